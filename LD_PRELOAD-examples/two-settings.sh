#!/bin/bash
# Two settings of one MPI library compared: its own choice of the Allreduce algorithm (a), and algorithm 1 (b). Each
# library reads its own variables. Exit code 1 of compare: b is slower.
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
mpitrace=$(realpath "${CARGO_TARGET_DIR:-target}/release/mpitrace")
source=$PWD/LD_PRELOAD-examples/repetitions.c
cd "$(mktemp -d)"

mpicc -O2 -o program "$source"
other="OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_allreduce_algorithm=1
    MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=recursive_doubling I_MPI_ADJUST_ALLREDUCE=1"
# shellcheck disable=SC2086
"$mpitrace" run --runs 3 --shuffle --verbose 0 -o set.mpitrace -- \
    mpirun -np 2 ./program --and mpirun -np 2 env $other ./program

"$mpitrace" compare --a set.a.*.mpitrace --b set.b.*.mpitrace || [ $? = 1 ]
rm -r "$PWD"
