#!/bin/bash
# tests/machine/toolchain.sh: what a cross build for arm64 needs, kept below target/machine; says on stdout what to set
# for cargo, as assignments for `env`. Can be run at any time: what is there is kept.
#
#   linker            Debian's gcc-aarch64-linux-gnu, which needs root or sudo to be installed
#   standard library  rustup's, where it has or gets one for arm64; else rustc and its library for arm64 of Debian's testing
#                     suite, which run from their folder, by their own loader
set -euo pipefail
cd "$(dirname "$0")/../.."
machine=${CARGO_TARGET_DIR:-target}/machine
mkdir -p "$machine"
machine=$(cd "$machine" && pwd)
. tests/machine/packages.sh
. tests/machine/kernel.sh

triple=aarch64-unknown-linux-gnu
suite=forky
say() { echo "machine: $*" >&2; }

installed gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-system-arm

echo "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc"
if [ -d "$(rustc --print sysroot)/lib/rustlib/$triple/lib" ]; then exit 0; fi
rustc=$machine/rustc
if [ ! -x "$rustc" ]; then
    if command -v rustup >/dev/null && timeout 120 rustup target add $triple >"$machine/rustup.log" 2>&1; then exit 0; fi
    say "rustup has no library for $triple here; taking rustc of Debian's $suite (once)"
    fetch toolchain $suite "amd64 arm64" rustc libstd-rust-dev libstd-rust-dev:arm64 >&2
    rm -rf "$machine/toolchain"
    unpack toolchain "$machine/toolchain" >&2
    rm -rf "$machine/toolchain.debs"
    # The loader and the libraries of that suite are newer than this machine's: each program runs by its own loader.
    cat >"$rustc.new" <<END
#!/bin/sh
exec '$machine/toolchain/usr/lib64/ld-linux-x86-64.so.2' \\
    --library-path '$machine/toolchain/usr/lib/x86_64-linux-gnu' \\
    '$machine/toolchain/usr/bin/rustc' --sysroot '$machine/toolchain/usr' "\$@"
END
    chmod +x "$rustc.new"
    "$rustc.new" -vV >&2
    mv "$rustc.new" "$rustc"
fi
echo "RUSTC=$rustc"
