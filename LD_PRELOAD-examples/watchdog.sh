#!/bin/bash
# A job script that ends a job that hangs, instead of waiting for the time limit: where was each rank, in which line?
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
mpitrace=$(realpath "${CARGO_TARGET_DIR:-target}/release/mpitrace")
source=$PWD/LD_PRELOAD-examples/hang.c
cd "$(mktemp -d)"
mkdir buffers
export MPITRACE_SEGMENT_DIR=$PWD/buffers

mpicc -g -o hang "$source"
"$mpitrace" run -o hang.mpitrace -- mpirun -np 2 ./hang >steps &
while kill -0 $! && [ "$(grep -c 'has made 100 steps' steps)" != 2 ]; do sleep 0.1; done
# Of a job of Slurm: --on-stuck 'scancel "$SLURM_JOB_ID"'
"$mpitrace" watch $! --until-stuck --stuck 2 --on-stuck "kill $!" || [ $? = 1 ] # 1: it hangs
wait $! || true
"$mpitrace" info hang.mpitrace || [ $? = 1 ] # 1: the trace is incomplete
rm -r "$PWD"
