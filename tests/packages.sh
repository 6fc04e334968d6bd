#!/bin/bash
# Installs mpitrace in each of the ways that there are, into an empty place, and uses it there. See docs/developers/tests.md.
#
#   tests/packages.sh [CHECK...]   without a name: all but spack, glibc and release, which build all crates once more
#
#   install   make install: pkg-config and CMake compile a C program, the module files load
#   deb       the Debian package: lintian, and a system without Rust
#   archive   the archive of a build for this machine: bound into a system without Rust and MPI, where a program is traced
#   dist      the archive of the sources: all dependencies of both workspaces are in it
#   python    the wheel: the package in a virtual environment, its types, its numbers beside those of the companion, the
#             notebook
#   spack     the recipe, by the `spack` in the PATH: built from the archive of the sources, and its tests
#   glibc     the archive for glibc 2.17, linked by zig: what its files need; a trace, and the wheel, in Debian 11
#   r         R reads an export
#   release   the release script in a clone with a tag, as the workflow calls it; nothing is published
#   workflows the commands of the workflows of .github, in a clone
#
# With PROFILE=checked they take what the tests have built, else the release.
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null

checks=("$@")
[ $# -gt 0 ] || checks=(install deb archive dist python r workflows)
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/packages"
target=$(cd "$target" && pwd)
profile=${PROFILE:-release}
built=$target/$profile
work=$target/packages/tests
export BOUND=
venv=$work/venv
traces=$work/traces
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
passed=0
# That of the last minimal_system.
chroot=

fail() {
    echo "$*"
    exit 1
}

skip() {
    echo "$1 skipped: $2"
    [ "${NOTHING_SKIPPED:-}" = "" ] || exit 1
}

# is WHAT EXPECTED FOUND
is() {
    [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
    passed=$((passed + 1))
}

# has WHAT TEXT PART
has() {
    case $2 in *"$3"*) ;; *) fail "$1: no '$3' in '$2'" ;; esac
    passed=$((passed + 1))
}

# refuses CODE PART COMMAND...: the command ends with this code and says this.
refuses() {
    local code=$1 part=$2 found=0 text
    shift 2
    text=$("$@" 2>&1) || found=$?
    is "exit code of $*" "$code" "$found"
    has "what $* says" "$text" "$part"
}

# debian PACKAGE...: installs them where they are missing; false where that cannot be done.
debian() {
    local package status missing=() as_root=()
    for package in "$@"; do
        status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$status" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} != 0 ] || return 0
    [ "$(id -u)" = 0 ] || as_root=(sudo -n)
    "${as_root[@]}" apt-get update >"$work/apt.log" 2>&1 &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends "${missing[@]}" >>"$work/apt.log" 2>&1
}

# What install and deb take, where it is not there.
build() {
    [ -x "$built/mpitrace" ] && [ -e "$built/libmpitrace.so" ] ||
        cargo build --profile "$profile" -p mpitrace-interpose -p mpitrace-tools
}

# A program in C that uses the C API, whether it runs under the tracer or not.
program() {
    cat >"$1" <<'END'
#include <mpitrace.h>
#include <stdio.h>
int main(void)
{
    const char *version = mpitrace_version();
    printf("tracer: %s\n", version && *version ? version : "none");
    return mpitrace_counter("used", "times") == -2;
}
END
}

install() {
    debian cmake pkg-config make gcc || {
        skip install "no cmake or pkg-config, and no right to install them"
        return
    }
    build
    local prefix=$work/prefix folder=$work/api library found
    mkdir -p "$folder"
    make -s install PREFIX="$prefix" BUILT="$built" >/dev/null
    is "version" "mpitrace $version" "$("$prefix/bin/mpitrace" --version)"
    # Each process of a job loads it. With checks of the tests in it it is larger.
    if [ "$profile" = release ]; then
        strip --strip-all -o "$work/stripped.so" "$prefix/lib/mpitrace/libmpitrace.so"
        found=$(stat -c %s "$work/stripped.so")
        [ "$found" -lt 4000000 ] || fail "libmpitrace.so has $found bytes without symbols: 4 MB are the limit"
        passed=$((passed + 1))
    fi
    found=$("$prefix/bin/mpitrace" doctor --json --mpi "$prefix/lib/mpitrace/libmpitrace.so" 2>/dev/null || true)
    has "the library that belongs to the companion" "$found" "\"tracer\": \"$prefix/lib/mpitrace/libmpitrace.so\""
    for page in mpitrace mpitrace-run mpitrace-categorize; do
        has "man page $page" "$(head -n 5 "$prefix/share/man/man1/$page.1")" ".TH $page 1"
    done
    for page in mpitrace.h.3 mpitrace.5 mpitrace.7; do
        has "man page $page" "$(head -n 1 "$prefix/share/man/man${page##*.}/$page")" ".TH ${page%.*} ${page##*.}"
    done
    found=$(find "$prefix/share/man" -name '*completions*' -o -name '*try*' -o -name '*help*')
    is "man pages of hidden commands" "" "$found"
    bash -n "$prefix/share/bash-completion/completions/mpitrace"
    found=$(bash -c '
        . "$0"
        COMP_WORDS=(mpitrace categ) COMP_CWORD=1
        _mpitrace mpitrace categ mpitrace
        echo "${COMPREPLY[@]}"' "$prefix/share/bash-completion/completions/mpitrace")
    is "completion in bash" "categorize" "$found"

    # With DESTDIR the files name the place where they will be.
    make -s install PREFIX=/opt/mpitrace DESTDIR="$work/staged" BUILT="$built" >/dev/null
    found=$(cat "$work/staged/opt/mpitrace/share/pkgconfig/mpitrace.pc")
    has "the prefix in a staged installation" "$found" "prefix=/opt/mpitrace"
    is "the folder before it in no file" "" "$(grep -rlI "$work/staged" "$work/staged" || true)"
    # What is installed over it replaces it, and all of it can be removed again; nothing else is.
    echo mine >"$work/staged/opt/mpitrace/share/mine"
    echo old >"$work/staged/opt/mpitrace/bin/earlier"
    echo bin/earlier >>"$work/staged/opt/mpitrace/share/mpitrace/installed.txt"
    make -s install PREFIX=/opt/mpitrace DESTDIR="$work/staged" BUILT="$built" >/dev/null
    is "a file of an earlier version is gone" "" "$(find "$work/staged" -name earlier)"
    make -s uninstall PREFIX=/opt/mpitrace DESTDIR="$work/staged" >/dev/null
    is "what make uninstall leaves" "$work/staged/opt/mpitrace/share/mine" "$(find "$work/staged" -type f)"
    is "folders that make uninstall leaves" "" "$(find "$work/staged/opt" -type d -empty)"
    found=0
    make -s uninstall PREFIX=/opt/mpitrace DESTDIR="$work/staged" >/dev/null 2>&1 || found=$?
    is "what is not installed cannot be removed" 2 "$found"
    # Of a version in a folder of its own nothing is left, not even that.
    make -s install PREFIX=/opt/mpitrace/$version DESTDIR="$work/removed" BUILT="$built" >/dev/null
    make -s uninstall PREFIX=/opt/mpitrace/$version DESTDIR="$work/removed" >/dev/null
    is "what make uninstall leaves of a version" "$work/removed/opt/mpitrace" "$(find "$work/removed" -depth | head -n 1)"
    found=0
    make -s install PREFIX=relative BUILT="$built" >/dev/null 2>&1 || found=$?
    is "a relative PREFIX is refused" 2 "$found"

    # By pkg-config.
    export PKG_CONFIG_PATH=$prefix/share/pkgconfig
    is "version in pkg-config" "$version" "$(pkg-config --modversion mpitrace)"
    program "$folder/program.c"
    # shellcheck disable=SC2046 # several words
    cc -Wall -Werror $(pkg-config --cflags mpitrace) -o "$folder/by-pkg-config" "$folder/program.c"
    library=$(pkg-config --variable=library mpitrace)
    is "without the tracer" "tracer: none" "$("$folder/by-pkg-config")"
    has "under the tracer" "$(LD_PRELOAD=$library "$folder/by-pkg-config" 2>&1)" "tracer: $version"

    # By CMake.
    cat >"$folder/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(api C)
find_package(mpitrace \${WANTED} REQUIRED)
if(NOT EXISTS "\${mpitrace_LIBRARY}" OR NOT EXISTS "\${mpitrace_EXECUTABLE}")
  message(FATAL_ERROR "\${mpitrace_LIBRARY} or \${mpitrace_EXECUTABLE} is missing")
endif()
foreach(source IN LISTS mpitrace_FORTRAN_SOURCES)
  if(NOT EXISTS "\${source}")
    message(FATAL_ERROR "\${source} is missing")
  endif()
endforeach()
add_executable(program program.c)
target_link_libraries(program mpitrace::mpitrace)
END
    cmake -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED="$version" >"$work/cmake.log" 2>&1 &&
        cmake --build "$folder/build" >>"$work/cmake.log" 2>&1 || fail "$(cat "$work/cmake.log")"
    is "by CMake" "tracer: none" "$("$folder/build/program")"
    if cmake -S "$folder" -B "$folder/other" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED=99.0 >"$work/cmake.log" 2>&1; then
        fail "CMake took version $version for 99.0"
    fi
    has "another version is refused" "$(cat "$work/cmake.log")" "99.0"
    unset PKG_CONFIG_PATH
    modules "$prefix/share/mpitrace/modulefiles" "$prefix"
}

# The module files, by what reads them: Environment Modules, and Lmod, which Debian does not install beside it.
modules() {
    local folder=$1 prefix=$2 modulecmd lmod found
    debian man-db || {
        skip "module files" "no man-db, and no right to install it"
        return
    }
    if debian environment-modules && modulecmd=$(dpkg -L environment-modules | grep -m 1 '/modulecmd.tcl$'); then
        loads "in Tcl" "$prefix" env MODULEPATH="$folder/tcl" "$modulecmd" bash
    else
        skip "module file in Tcl" "no environment-modules"
    fi
    if debian lua5.3 lua-posix lua-filesystem lua-json lua-term &&
        (cd "$work" && apt-get download lmod >/dev/null 2>&1) && dpkg -x "$work"/lmod_*.deb "$work/lmod"; then
        lmod=$(find "$work/lmod" -path '*libexec/lmod' | head -n 1)
        # It is not where it was built for.
        loads "in Lua" "$prefix" env MODULEPATH="$folder/lua" LMOD_DIR="$(dirname "$lmod")" LMOD_CMD="$lmod" \
            LMOD_SYSTEM_DEFAULT_MODULES='' LMOD_SETTARG_FULL_SUPPORT=no lua5.3 "$lmod" bash
    else
        skip "module file in Lua" "no Lmod"
    fi
}

# loads WHICH PREFIX COMMAND...: what a shell has after the module is loaded, and after it is removed again, by a command
# that says for `load NAME` and `unload NAME` what the shell does.
loads() {
    local which=$1 prefix=$2 found
    shift 2
    # Lmod leaves out what is twice in a path.
    found=$(env -u MANPATH -u LD_PRELOAD -u LD_LIBRARY_PATH PATH=/usr/local/bin:/usr/bin:/bin bash -c '
        pages() { manpath -q | tr : "\n" | sort -u | grep -cx -e "$1" -e /usr/share/man; }
        prefix=$0 before=$PATH
        eval "$("$@" load mpitrace)"
        echo "$(command -v mpitrace) $(man -w mpitrace-run) $(pages "$prefix/share/man") $MPITRACE_ROOT $MPITRACE_LIBRARY"
        echo "${PATH#"$prefix/bin:"}" | grep -cxF "$before"
        echo "${LD_PRELOAD-not set} ${LD_LIBRARY_PATH-not set}"
        LD_PRELOAD=$MPITRACE_LIBRARY echo "the library loads"
        eval "$("$@" unload mpitrace)"
        echo "${MPITRACE_ROOT-not set} ${MPITRACE_LIBRARY-not set} $(pages "$prefix/share/man")"
        echo "$PATH" | grep -cxF "$before"' "$prefix" "$@" 2>&1) || true
    is "the module file $which" "$prefix/bin/mpitrace $prefix/share/man/man1/mpitrace-run.1 2 $prefix \
$prefix/lib/mpitrace/libmpitrace.so
1
not set not set
the library loads
not set not set 1
1" "$found"
}

# inside COMMAND...: in the minimal system, with its /proc and the folders FROM:TO in $BOUND, which go with the command.
inside() {
    # shellcheck disable=SC2016 # expanded there
    unshare --mount sh -c '
        set -e
        mount -t proc proc "$0/proc"
        for bound in $BOUND; do
            mkdir -p "$0${bound#*:}"
            mount --bind "${bound%%:*}" "$0${bound#*:}"
        done
        exec chroot "$0" "$@"' "$chroot" "$@"
}

# minimal_system [SUITE PACKAGES]: this Debian or another with more packages, made once, in $chroot. False where it cannot
# be made.
minimal_system() {
    local suite=${1:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)} packages=${2:-}
    chroot=$target/packages/chroot/$suite
    if [ "$(id -u)" != 0 ]; then
        skip "the package in a system of its own" "needs root"
        return 1
    fi
    [ ! -e "$chroot/made" ] || return 0
    rm -rf "$chroot"
    mkdir -p "${chroot%/*}"
    debootstrap --variant=minbase ${packages:+"--include=$packages"} "$suite" "$chroot" >"$work/debootstrap.log" 2>&1 || {
        tail -n 5 "$work/debootstrap.log"
        skip "the package in a system of its own" "debootstrap failed"
        return 1
    }
    : >"$chroot/made"
}

# The archive bound into the minimal system, as into a container, beside an MPI library and a program.
archive() {
    debian debootstrap binutils || {
        skip archive "no debootstrap, and no right to install it"
        return
    }
    local folder=$work/mpitrace-$version-$(uname -m) mpi=$target/mpi/mpich5 found
    found=$(GLIBC='' PROFILE=$profile packaging/archive.sh 2>"$work/pip.log") || fail "$(tail -n 30 "$work/pip.log")"
    tar -x -C "$work" -f "$found"
    has "the wheel in it" "$(echo "$folder"/*.whl)" "/mpitrace-$version-cp39-abi3-"
    found=${found##*-glibc}
    needs_at_most "${found%.tar.gz}" "$folder"
    minimal_system || return 0
    BOUND="$folder:/opt/mpitrace"
    is "it starts" "mpitrace $version" "$(inside /opt/mpitrace/bin/mpitrace --version)"
    [ -x "$mpi/bin/mpicc" ] || {
        skip "a program in a container" "no MPICH 5"
        return
    }
    mkdir -p "$work/job"
    "$mpi/bin/mpicc" -O1 -o "$work/job/program" LD_PRELOAD-examples/repetitions.c
    BOUND="$folder:/opt/mpitrace $work/job:/job $mpi:$mpi /dev/shm:/dev/shm"
    inside /opt/mpitrace/bin/mpitrace run -o /job/app.mpitrace -- "$mpi/bin/mpiexec" -n 2 /job/program \
        >"$work/run.log" 2>&1 || fail "$(cat "$work/run.log")"
    has "its trace" "$("$folder/bin/mpitrace" info --json "$work/job/app.mpitrace")" '"complete": true'
}

deb() {
    debian lintian debootstrap dpkg-dev binutils || {
        skip deb "no lintian or debootstrap, and no right to install them"
        return
    }
    build
    local package found code
    package=$(BUILT=$built packaging/deb.sh)
    lintian --fail-on error,warning --tag-display-limit 0 "$package"
    passed=$((passed + 1))
    found=$(sha256sum <"$package")
    package=$(BUILT=$built packaging/deb.sh)
    is "the same files give the same package" "$found" "$(sha256sum <"$package")"

    minimal_system || return 0
    cp "$package" "$chroot/mpitrace.deb"
    inside dpkg -i /mpitrace.deb >"$work/dpkg.log" 2>&1 || fail "$(cat "$work/dpkg.log")"
    is "no Rust there" "" "$(inside sh -c 'command -v cargo rustc gcc' || true)"
    is "installed" "mpitrace $version" "$(inside mpitrace --version)"
    code=0
    found=$(inside mpitrace doctor --json 2>&1) || code=$?
    is "doctor finds that there is no MPI library" 1 "$code"
    has "and its tracer" "$found" '"tracer": "/usr/lib/mpitrace/libmpitrace.so"'
    found=$(inside env LD_PRELOAD=/usr/lib/mpitrace/libmpitrace.so /bin/echo done 2>&1)
    is "the tracer can be loaded" done "$found"
    inside dpkg -P mpitrace >"$work/dpkg.log" 2>&1 || fail "$(cat "$work/dpkg.log")"
    is "nothing is left" "" "$(find "$chroot/usr" "$chroot/etc" -name '*mpitrace*')"
}

in_spack() {
    command spack "$@" >>"$work/spack.log" 2>&1 || fail "spack $*: $(tail -n 30 "$work/spack.log")"
}

# The recipe, with the Rust and C compilers of this machine. Nothing of the user's own Spack is changed.
spack() {
    type -P spack >/dev/null || {
        skip spack "no spack in the PATH"
        return
    }
    local repository prefix
    rm -rf "$work/spack" "$target/packages/mpitrace-$version.tar.xz"
    export SPACK_USER_CONFIG_PATH=$work/spack/config SPACK_USER_CACHE_PATH=$work/spack/cache
    repository=$(packaging/spack.sh 2>"$work/spack.log") || fail "$(tail -n 30 "$work/spack.log")"
    in_spack repo add "$repository"
    in_spack config add "config:install_tree:root:$work/spack/installed"
    in_spack config add "config:build_stage:[$work/spack/stage]"
    in_spack compiler find
    in_spack external find gmake rust
    in_spack install --test=root mpitrace
    in_spack test run mpitrace
    prefix=$(command spack location -i mpitrace)
    is "the companion of Spack" "mpitrace $version" "$("$prefix/bin/mpitrace" --version)"
    has "its library" "$("$prefix/bin/mpitrace" doctor --json 2>/dev/null || true)" "\"tracer\": \"$prefix/"
}

# R reads the csv, and finds the median that the companion prints.
r() {
    debian r-base-core || {
        skip r "no R, and no right to install it"
        return
    }
    build
    local trace=$work/r.mpitrace expected
    cargo run -q --profile "$profile" -p mpitrace-tools --example synthetic -- 4 10000 "$trace"
    "$built/mpitrace" export "$trace" --format csv --operation 0 -o "$work/r.csv.gz"
    expected=$("$built/mpitrace" categorize --json "$trace" --operation 0 | grep -o '"median_ns":[0-9.]*' | cut -d: -f2)
    is "the median in R" "$(printf %.6f "$expected")" "$(Rscript --vanilla -e '
calls <- read.csv(commandArgs(TRUE), strip.white = TRUE)
names(calls) <- c("repetition", "rank", "metric", "value")
times <- subset(calls, metric == "runtime")
cat(sprintf("%.6f", median(tapply(times$value, times$repetition, max))))' "$work/r.csv.gz")"
}

# shellcheck source=tests/packages/wheel.sh
. tests/packages/wheel.sh
# shellcheck source=tests/packages/sources.sh
. tests/packages/sources.sh

for check in "${checks[@]}"; do
    case $check in
        install | deb | archive | dist | python | spack | glibc | r | release | workflows) ;;
        *)
            sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
            exit 2
            ;;
    esac
done
rm -rf "$work"
mkdir -p "$work"
for check in "${checks[@]}"; do
    echo "-- $check"
    $check
done
echo "packages: $passed checks passed"
