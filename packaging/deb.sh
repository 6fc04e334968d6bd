#!/bin/sh
# Makes a Debian package out of what was built: `make deb`. Needs dpkg-dev (dpkg-shlibdeps), and no debhelper.
#
#   DEBFULLNAME, DEBEMAIL   the maintainer of the package, as Debian's own tools read them
#   BUILT                   as in install.sh
#
# The package is left in target/packages.
set -eu
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
for tool in dpkg-deb dpkg-shlibdeps dpkg-architecture strip gzip md5sum; do
    if ! command -v $tool >/dev/null; then
        echo "deb: $tool is missing: apt-get install dpkg-dev binutils" >&2
        exit 2
    fi
done
architecture=$(dpkg-architecture -qDEB_HOST_ARCH)
maintainer="${DEBFULLNAME:-mpitrace developers} <${DEBEMAIL:-mpitrace@packages.debian.org}>"
# The time of the last commit: the same sources give the same package.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
umask 022

mkdir -p "$target/packages"
work=$target/packages/deb
rm -rf "$work"
root=$work/root
mkdir -p "$root/DEBIAN" "$work/debian"
PREFIX=/usr DESTDIR=$root STRIP=1 ZSH=share/zsh/vendor-completions packaging/install.sh >/dev/null

documents=$root/usr/share/doc/mpitrace
rm "$documents"/LICENSE-*.txt
# dpkg has a list of its own.
rm "$root/usr/share/mpitrace/installed.txt"
gzip -9n >"$documents/changelog.gz" <<END
mpitrace ($version) unstable; urgency=medium

  * Changes of this version: CHANGELOG.md in this folder.

 -- $maintainer  $(LC_ALL=C date -R -u -d "@$SOURCE_DATE_EPOCH")
END
gzip -9n "$root"/usr/share/man/man?/*
{
    echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    echo "Upstream-Name: mpitrace"
    echo
    echo "Files: *"
    echo "Copyright: $(sed -n 's/^Copyright (c) //p' LICENSES/MIT.txt | head -n 1)"
    echo "License: Expat or Apache-2.0"
    echo
    echo "License: Expat"
    sed -n '/^Permission/,$p' LICENSES/MIT.txt | sed 's/^$/./; s/^/ /'
    echo
    echo "License: Apache-2.0"
    echo " On Debian systems the text of this licence is in /usr/share/common-licenses/Apache-2.0."
} >"$documents/copyright"

# What the two files need of other packages.
cat >"$work/debian/control" <<END
Source: mpitrace

Package: mpitrace
Architecture: any
END
files='root/usr/bin/mpitrace root/usr/lib/mpitrace/libmpitrace.so'
# shellcheck disable=SC2086 # two files
depends=$(cd "$work" && dpkg-shlibdeps -O $files 2>shlibdeps.log) || {
    cat "$work/shlibdeps.log" >&2
    exit 1
}
cat >"$root/DEBIAN/control" <<END
Package: mpitrace
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -k -s "$root/usr" | cut -f 1)
Depends: ${depends#shlibs:Depends=}
Suggests: environment-modules | lmod, pkgconf | pkg-config
Section: utils
Priority: optional
Description: tracer of the collective calls of MPI programs
 Traces every collective call of an unmodified MPI program, and says where the
 time of its ranks went: waiting for other ranks, off the processor, or
 communication. One preloaded library serves Open MPI, MPICH, Intel MPI,
 MVAPICH and the MPI-5 standard ABI.
 .
 The program mpitrace starts jobs under the tracer, sorts the repetitions of
 each operation into first, warm-up, outlier and good, tests differences
 between runs and exports to other tools.
END
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -print0 | xargs -0r touch -h -d "@$SOURCE_DATE_EPOCH"

package=$target/packages/mpitrace_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package" >/dev/null
rm -rf "$work"
echo "$package"
