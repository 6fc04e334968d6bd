#!/bin/sh
# Builds an archive for machines without cargo: `make archive`. Unpacked anywhere it is an installation
# (packaging/install.sh) with relative paths, and the Python wheel, which is left beside the archive, too.
#
#   GLIBC     the oldest C library on which it runs (2.17), by zig, which pip installs for the build; empty: this machine's
#   PROFILE   cargo's profile (release)
#
# The archive is left in target/packages. Its name has the oldest glibc on which it runs.
set -eu
cd "$(dirname "$0")/.."

export GLIBC="${GLIBC-2.17}"
profile=${PROFILE:-release}
target=${CARGO_TARGET_DIR:-target}
machine=$(uname -m)
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
name=mpitrace-$version-$machine
work=$target/packages/archive
rm -rf "$work"
mkdir -p "$work/$name"
# That builds the companion and the library as well.
WHOLE=1 MATURIN_PEP517_ARGS="--profile $profile" python3 -m pip wheel --no-deps --wheel-dir "$work/$name" ./python >&2
BUILT=$target/${GLIBC:+$machine-unknown-linux-gnu/}$profile \
    DESTDIR=$work/$name PREFIX='' STRIP=1 packaging/install.sh >/dev/null
cp "$work/$name"/*.whl "$target/packages"
# maturin has checked this tag.
oldest=$(echo "$work/$name"/*.whl | sed 's/.*manylinux_\([0-9]*\)_\([0-9]*\)_.*/\1.\2/')
archive=$target/packages/$name-glibc$oldest.tar.gz
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -c "$name" |
    gzip -9n >"$archive"
rm -rf "$work"
echo "$archive"
