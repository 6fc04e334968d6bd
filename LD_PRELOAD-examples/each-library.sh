#!/bin/bash
# One libmpitrace.so under each MPI library that is here: Open MPI, MPICH and Intel MPI.
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
tracer=$(realpath "${CARGO_TARGET_DIR:-target}/release/libmpitrace.so")
mpitrace=$(realpath "${CARGO_TARGET_DIR:-target}/release/mpitrace")
source=$PWD/LD_PRELOAD-examples/repetitions.c
# Intel MPI as tests/mpi/install.sh puts it there, where it is not on the path; I_MPI_ROOT names another one.
intel=${I_MPI_ROOT:-$(realpath "${CARGO_TARGET_DIR:-target}/mpi/impi" 2>/dev/null || true)}
cd "$(mktemp -d)"

# trace NAME LAUNCHER: runs ./NAME under the tracer, and shows which library it met.
trace() {
    "$2" -np 2 env LD_PRELOAD="$tracer" MPITRACE_OUTPUT="$1.mpitrace" "./$1"
    "$mpitrace" info "$1.mpitrace" | grep '^library'
}

if command -v mpicc.openmpi >/dev/null; then
    mpicc.openmpi -O2 -o open-mpi "$source"
    trace open-mpi mpirun.openmpi
fi
if command -v mpicc.mpich >/dev/null; then
    mpicc.mpich -O2 -o mpich "$source"
    trace mpich mpirun.mpich
fi
if [ -e "$intel/lib/libmpi.so.12" ]; then
    cc -O2 -I"$intel/include" -o intel-mpi "$source" -L"$intel/lib" -Wl,-rpath,"$intel/lib" -lmpi
    export I_MPI_ROOT=$intel I_MPI_FABRICS=shm
    trace intel-mpi "$intel/bin/mpiexec.hydra"
fi
rm -r "$PWD"
