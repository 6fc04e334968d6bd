#!/bin/bash
# Time per repetition of two steps inside a library below the application, which counts and times by include/mpitrace.h.
# The first 16 repetitions go through slots that were not touched before.
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
tracer=$(realpath "${CARGO_TARGET_DIR:-target}/release/libmpitrace.so")
mpitrace=$(realpath "${CARGO_TARGET_DIR:-target}/release/mpitrace")
sources=$PWD/LD_PRELOAD-examples include=$PWD/include
cd "$(mktemp -d)"

gcc -O2 -fPIC -shared -I "$include" -o libinner_steps.so "$sources/inner_steps.c"
mpicc -O2 -I "$include" -o program "$sources/inner_steps_main.c" ./libinner_steps.so -Wl,-rpath,"$PWD"
mpirun -np 2 env LD_PRELOAD="$tracer" MPITRACE_OUTPUT=inner.mpitrace MPITRACE_EVENTS=page-faults ./program

operation=$("$mpitrace" info inner.mpitrace | awk '$2 == "step" { print $1 }')
"$mpitrace" dump inner.mpitrace --operation "$operation" --rank 0 --limit 24
rm -r "$PWD"
