#!/bin/sh
# Installs what was built: `make install`. The Debian package and the Python wheel are made of the same folders.
#
#   PREFIX    where it will be used from (/usr/local). Empty: unknown, all paths in files are relative (the wheel)
#   DESTDIR   a folder before that, for packages
#   BUILT     the folder with mpitrace and libmpitrace.so (target/release; built where it is missing)
#   STRIP     1: without symbols
#   ZSH       the folder of completions for zsh below PREFIX (share/zsh/site-functions)
#
#   bin/mpitrace                      the companion
#   lib/mpitrace/libmpitrace.so       what is preloaded; no folder of the loader, as other tools have the same name
#   include/                          the C API; Fortran's sources: share/mpitrace/fortran; mpitrace_enough: share/mpitrace/bench
#   share/pkgconfig, share/cmake      for programs that use the C API
#   share/man, share/bash-completion, share/zsh, share/fish
#   share/mpitrace/mpitrace.schema.json   the JSON output of the companion (JSON Schema, draft 7)
#   share/mpitrace/slurm              the source of the plugin of Slurm, and a TaskProlog
#   share/mpitrace/ci         templates for `mpitrace gate`
#   share/mpitrace/modulefiles        tcl/ for Environment Modules, lua/ for Lmod
#   share/doc/mpitrace                licences, changes
#   share/mpitrace/installed.txt      the files, a line each, for packaging/uninstall.sh
set -eu
cd "$(dirname "$0")/.."

prefix=${PREFIX-/usr/local}
root=${DESTDIR:-}$prefix
built=${BUILT:-${CARGO_TARGET_DIR:-target}/release}
zsh=${ZSH:-share/zsh/site-functions}
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)

case $prefix in
    "" | /*) ;;
    *)
        echo "install: PREFIX=$prefix: name a path from the root on" >&2
        exit 2
        ;;
esac
if [ -z "$root" ]; then
    echo "install: neither PREFIX nor DESTDIR is set" >&2
    exit 2
fi
if [ ! -x "$built/mpitrace" ] || [ ! -e "$built/libmpitrace.so" ]; then
    if [ -n "${BUILT:-}" ]; then
        echo "install: $built has no mpitrace and libmpitrace.so" >&2
        exit 2
    fi
    cargo build --release --workspace
fi

list=share/mpitrace/installed.txt
earlier=$(cat "$root/$list" 2>/dev/null || true)
mkdir -p "$root/share/mpitrace"
: >"$root/$list"

# file MODE FROM TO: a copy below the root, under a new inode, since programs may run from the old one.
file() {
    mkdir -p "$root/$(dirname "$3")"
    rm -f "$root/$3"
    cp "$2" "$root/$3"
    chmod "$1" "$root/$3"
    echo "$3" >>"$root/$list"
}

# text TO: a file below the root, of standard input.
text() {
    mkdir -p "$root/$(dirname "$1")"
    cat >"$root/$1"
    chmod 644 "$root/$1"
    echo "$1" >>"$root/$list"
}

# template FROM TO: @PREFIX@ and @VERSION@ are filled in.
template() { sed "s|@PREFIX@|$prefix|g; s|@VERSION@|$version|g" "$1" | text "$2"; }

file 755 "$built/mpitrace" bin/mpitrace
file 644 "$built/libmpitrace.so" lib/mpitrace/libmpitrace.so
if [ "${STRIP:-}" = 1 ] && command -v strip >/dev/null; then
    strip --strip-unneeded "$root/bin/mpitrace" "$root/lib/mpitrace/libmpitrace.so"
fi
file 644 include/mpitrace.h include/mpitrace.h
file 644 include/roth_tracing.h include/roth_tracing.h
file 644 include/mpitrace.f90 share/mpitrace/fortran/mpitrace.f90
file 644 include/mpitrace_fortran.c share/mpitrace/fortran/mpitrace_fortran.c
file 644 include/mpitrace_bench.c share/mpitrace/bench/mpitrace_bench.c
file 644 packaging/mpitrace.schema.json share/mpitrace/mpitrace.schema.json
file 644 packaging/mpitrace.magic share/mpitrace/mpitrace.magic
file 644 packaging/mpitrace.mime.xml share/mime/packages/mpitrace.xml
file 644 packaging/slurm/mpitrace_spank.c share/mpitrace/slurm/mpitrace_spank.c
template packaging/slurm/task_prolog.sh share/mpitrace/slurm/task_prolog.sh
chmod 755 "$root/share/mpitrace/slurm/task_prolog.sh"
for template in github.yml gitlab.yml reframe_gate.py; do
    file 644 "packaging/ci/$template" "share/mpitrace/ci/$template"
done

if [ -n "$prefix" ]; then
    template packaging/mpitrace.pc share/pkgconfig/mpitrace.pc
    template packaging/modulefile.tcl "share/mpitrace/modulefiles/tcl/mpitrace/$version"
    template packaging/modulefile.lua "share/mpitrace/modulefiles/lua/mpitrace/$version.lua"
else
    sed "s|@PREFIX@|\${pcfiledir}/../..|; s|@VERSION@|$version|" packaging/mpitrace.pc |
        text share/pkgconfig/mpitrace.pc
fi
template packaging/mpitrace-config.cmake share/cmake/mpitrace/mpitrace-config.cmake
template packaging/mpitrace-config-version.cmake share/cmake/mpitrace/mpitrace-config-version.cmake

"$built/mpitrace" completions bash | text share/bash-completion/completions/mpitrace
"$built/mpitrace" completions zsh | text "$zsh/_mpitrace"
"$built/mpitrace" completions fish | text share/fish/vendor_completions.d/mpitrace.fish
mkdir -p "$root/share/man/man1"
"$built/mpitrace" man "$root/share/man/man1"
if command -v python3 >/dev/null; then packaging/manual.py "$version" "$root/share/man"; fi
chmod 644 "$root"/share/man/man?/mpitrace*
(cd "$root" && find share/man -type f -name 'mpitrace*') >>"$root/$list"

for page in README.md CHANGELOG.md; do
    file 644 "$page" "share/doc/mpitrace/$page"
done
for licence in Apache-2.0 MIT; do
    file 644 "LICENSES/$licence.txt" "share/doc/mpitrace/LICENSE-$licence.txt"
done
echo "$list" >>"$root/$list"
chmod 644 "$root/$list"
# What an earlier version installed and this one does not.
echo "$earlier" | grep -vxF -f "$root/$list" | while read -r file; do
    case /$file/ in */../* | //) continue ;; esac
    rm -f "$root/$file"
done
echo "installed mpitrace $version in $root"
