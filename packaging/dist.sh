#!/bin/sh
# Makes an archive of the sources with all dependencies, for machines without a network: `make dist`. It holds the last
# commit. `cargo build --release --workspace` and `pip install ./python` build it offline, the latter where maturin and
# pyarrow are installed (pip install --no-build-isolation).
#
# The archive is left in target/packages.
set -eu
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/packages"
target=$(cd "$target" && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
name=mpitrace-$version
work=$target/packages/dist
rm -rf "$work"
mkdir -p "$work"

if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
    echo "dist: the archive holds the last commit, without the changes that are not committed" >&2
fi
git archive --prefix="$name/" HEAD | tar -x -C "$work"
mkdir "$work/$name/.cargo"
# It prints what has to be in the configuration, and on stderr each package.
(cd "$work/$name" && cargo vendor --locked --sync python/Cargo.toml vendor >.cargo/config.toml 2>../vendor.log) || {
    tail -n 5 "$work/vendor.log" >&2
    exit 1
}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -c "$name" |
    xz -T0 -3 >"$target/packages/$name.tar.xz.part"
mv "$target/packages/$name.tar.xz.part" "$target/packages/$name.tar.xz"
rm -rf "$work"
echo "$target/packages/$name.tar.xz"
