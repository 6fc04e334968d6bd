#!/bin/bash
# Benchmarks as you have built them, unmodified, with how they synchronise their ranks:
#
#   REPROMPI=.../mpibenchmark IMB=.../IMB-MPI1 MPIRUN=.../mpirun LD_PRELOAD-examples/benchmarks.sh
#
# Without IMB the one of Intel MPI is taken, if tests/mpi/install.sh has put it below target/mpi.
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
mpitrace=$(realpath "${CARGO_TARGET_DIR:-target}/release/mpitrace")
mpirun=${MPIRUN:-mpirun}
if [ -z "${IMB-}${REPROMPI-}" ]; then
    intel=$(realpath "${CARGO_TARGET_DIR:-target}/mpi/impi" 2>/dev/null || true)
    [ -x "$intel/bin/IMB-MPI1" ] || skip "neither REPROMPI nor IMB names a benchmark"
    IMB=$intel/bin/IMB-MPI1 mpirun=$intel/bin/mpiexec.hydra
    export I_MPI_ROOT=$intel I_MPI_FABRICS=shm LD_LIBRARY_PATH=$intel/lib
fi
cd "$(mktemp -d)"

if [ -n "${IMB-}" ]; then
    "$mpitrace" run --verbose 0 -e messages -o imb.mpitrace -- \
        "$mpirun" -np 2 "$IMB" Allreduce -msglog 3:3 -iter 1000 -iter_policy off
    "$mpitrace" categorize imb.mpitrace
    # Of all calls, also those that the benchmark makes before its loop and does not count.
    "$mpitrace" stats imb.mpitrace
fi
if [ -n "${REPROMPI-}" ]; then
    "$mpitrace" run --verbose 0 -e messages -o reprompi.mpitrace -- "$mpirun" -np 2 "$REPROMPI" \
        --calls-list=MPI_Allreduce --msizes-list=8 --nrep=500
    "$mpitrace" categorize reprompi.mpitrace
    "$mpitrace" benchmark synchronisation reprompi.mpitrace
fi
rm -r "$PWD"
