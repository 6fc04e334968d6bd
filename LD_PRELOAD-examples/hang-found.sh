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
# The time limit of a batch system. Without MPITRACE_SEGMENT_DIR the records are in /dev/shm.
timeout 4 mpirun -np 2 env LD_PRELOAD="$tracer" MPITRACE_SEGMENT_DIR="$PWD/buffers" MPITRACE_CALLSITE=1 ./hang || true

"$mpitrace" recover buffers -o hang.mpitrace
"$mpitrace" info hang.mpitrace || [ $? = 1 ] # 1: the trace is incomplete
rm -r "$PWD"
