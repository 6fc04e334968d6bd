#!/bin/bash
# Counters beside each call: page faults and context switches of the kernel, messages, and the MPI library's own pvars.
# The program's first 256 repetitions touch new memory.
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
mpitrace=$(realpath "${CARGO_TARGET_DIR:-target}/release/mpitrace")
source=$PWD/LD_PRELOAD-examples/warm_up.c
cd "$(mktemp -d)"

mpicc -O2 -o program "$source"
MPITRACE_PVARS='*' "$mpitrace" run -e page-faults,context-switches,messages-sent -o counters.mpitrace -- mpirun -np 2 ./program

"$mpitrace" dump counters.mpitrace --operation 0 --rank 0 --limit 4
"$mpitrace" diagnose counters.mpitrace
rm -r "$PWD"
