#!/bin/bash
# A job that hangs and is killed: which rank is in which call, and which one never came there?
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
tracer=$(realpath "${CARGO_TARGET_DIR:-target}/release/libmpitrace.so")
mpitrace=$(realpath "${CARGO_TARGET_DIR:-target}/release/mpitrace")
source=$PWD/LD_PRELOAD-examples/hang.c
cd "$(mktemp -d)"
mkdir buffers

mpicc -g -o hang "$source"
# Without MPITRACE_SEGMENT_DIR the records are in /dev/shm.
mpirun -np 2 env LD_PRELOAD="$tracer" MPITRACE_SEGMENT_DIR="$PWD/buffers" MPITRACE_CALLSITE=1 ./hang >steps &
while kill -0 $! && [ "$(grep -c 'has made 100 steps' steps)" != 2 ]; do sleep 0.1; done
sleep 1
kill $! # as a batch system does at the time limit
wait $! || true
sleep 1 # until the ranks have ended, too

"$mpitrace" recover buffers -o hang.mpitrace
"$mpitrace" info hang.mpitrace || [ $? = 1 ] # 1: the trace is incomplete
rm -r "$PWD"
