#!/bin/sh
# Makes an archive of what was built, for machines without cargo: `make archive`. Unpacked anywhere it is an installation
# (packaging/install.sh) with relative paths.
#
#   BUILT   as in install.sh
#
# The archive is left in target/packages. Its name has the oldest glibc on which it runs.
set -eu
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/packages"
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
name=mpitrace-$version-$(uname -m)
work=$target/packages/archive
rm -rf "$work"
mkdir -p "$work/$name"
DESTDIR=$work/$name PREFIX='' STRIP=1 packaging/install.sh >/dev/null
oldest=$(objdump -T "$work/$name/bin/mpitrace" "$work/$name/lib/mpitrace/libmpitrace.so" |
    grep -o 'GLIBC_2[0-9.]*' | sed 's/GLIBC_//' | sort -V | tail -n 1)
archive=$target/packages/$name-glibc$oldest.tar.gz
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -c "$name" |
    gzip -9n >"$archive"
rm -rf "$work"
echo "$archive"
