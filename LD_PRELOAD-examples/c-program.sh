#!/bin/bash
# A C program, with the library preloaded by hand: `env` behind the launcher sets the variables on the ranks alone.
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
tracer=$(realpath "${CARGO_TARGET_DIR:-target}/release/libmpitrace.so")
mpitrace=$(realpath "${CARGO_TARGET_DIR:-target}/release/mpitrace")
source=$PWD/LD_PRELOAD-examples/repetitions.c
cd "$(mktemp -d)"

mpicc -O2 "$source" -o program
mpirun -np 2 env LD_PRELOAD="$tracer" MPITRACE_OUTPUT=c.mpitrace ./program

"$mpitrace" categorize c.mpitrace
"$mpitrace" dump c.mpitrace --operation 0 --limit 4
rm -r "$PWD"
