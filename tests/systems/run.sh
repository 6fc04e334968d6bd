#!/bin/bash
# tests/systems/run.sh [SUITE...]: whole programs on other Debians than this one, each with its own C library, Open MPI and
# MPICH, in a chroot (bookworm, trixie and forky, unless named): with the library, the companion and the tests that were
# built here. Needs root. All is kept in target/systems.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
machine=$target/systems
mkdir -p "$machine"
. tests/machine/packages.sh
profile=checked
themes='counts:: collectives:: requests::a languages:: call_sites:: death::s clocks::a communicators::'
say() { echo "systems: $*"; }

[ "$(id -u)" = 0 ] || { say "skipped: a chroot needs root"; exit 0; }
[ $# -gt 0 ] || set -- bookworm trixie forky

built=$(cargo test --no-run --profile $profile --test whole_programs 2>&1) || { echo "$built"; exit 1; }
tests=$(sed -n 's/.*Executable.*whole_programs.*(\(.*\))$/\1/p' <<<"$built")
cargo build --quiet --profile $profile -p mpitrace-interpose -p mpitrace-tools

# inside FOLDER: mounts what a chroot lacks, in name spaces of its own, and runs the tests there.
inside() {
    local folder=$1
    unshare --mount --pid --fork --uts bash -euc '
        folder=$1 root=$2 profile=$3 themes=$4
        hostname machine
        mount -t proc proc "$folder/proc"
        mount --rbind /dev "$folder/dev"
        mount --rbind /sys "$folder/sys"
        mount -t tmpfs -o mode=1777 tmpfs "$folder/dev/shm"
        mount -t tmpfs -o mode=1777 tmpfs "$folder/tmp"
        mkdir -p "$folder$(dirname "$root")"
        ln -sfn /stage/repository "$folder$root"
        code=0
        for theme in $themes; do
            env -i PATH=/usr/bin:/usr/sbin HOME=/root LC_ALL=C MPITRACE_TESTS=all CARGO=/bin/true \
                chroot "$folder" "/stage/$profile/deps/whole_programs" "$theme" </dev/null || code=1
        done
        exit $code
    ' inside "$folder" "$root" $profile "$themes"
}

code=0
for suite in "$@"; do
    folder=$machine/$suite
    stamp=$(cat tests/machine/packages.sh | sha256sum)
    if [ "$(cat "$folder.stamp" 2>/dev/null)" != "$stamp" ]; then
        say "fetching and unpacking Debian's $suite (once)"
        # shellcheck disable=SC2086 # a list
        fetch "$suite" "$suite" amd64 $tested_packages
        system "$suite" "$folder"
        rm -rf "$machine/$suite.debs"
        echo "$stamp" >"$folder.stamp"
    fi
    rm -rf "$folder/stage/$profile" "$folder/stage/repository"
    mkdir -p "$folder/stage/$profile/deps" "$folder/stage/tests" "$folder/stage/repository/tests"
    cp "$target/$profile/libmpitrace.so" "$target/$profile/mpitrace" "$folder/stage/$profile/"
    cp "$tests" "$folder/stage/$profile/deps/whole_programs"
    cp -r tests/programs "$folder/stage/repository/tests/"
    cp -r include "$folder/stage/repository/"
    say "== $suite: $(ls "$folder"/usr/lib/x86_64-linux-gnu/libc.so.6 >/dev/null && strings -a "$folder/usr/lib/x86_64-linux-gnu/libc.so.6" | sed -n 's/^GNU C Library .* version \(.*\)\.$/glibc \1/p')"
    inside "$folder" || code=1
done
exit $code
