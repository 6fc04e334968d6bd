#!/bin/bash
# tests/cluster/broken.sh COMPANION TRACER PROGRAM INTERFACE WHICH...: on `head`, runs each of the programs of broken.c on the
# nodes, looks at it from n1 until there is a finding or the job has ended, kills it, and has the nodes recover what it left.
# Writes a line of JSON for each: {"which", "live": a look or null, "dead": what `info` says of the trace}.
set -euo pipefail
companion=$1 tracer=$2 program=$3 interface=$4
shift 4

for which in "$@"; do
    layout="-N3 --ntasks-per-node=1"
    case $which in circle | half) layout="-N2 --ntasks-per-node=2" ;; esac
    # shellcheck disable=SC2086 # several words
    srun --mpi="$interface" $layout -J "$which" env LD_PRELOAD="$tracer" MPITRACE_SEGMENT_DIR=/dev/shm MPITRACE_CALLSITE=1 \
        MPITRACE_OUTPUT="$PWD/$which.own.mpitrace" "$program" "$which" >"$which.out" 2>&1 &
    launcher=$!
    live=null
    for _ in $(seq 60); do
        kill -0 $launcher 2>/dev/null || break
        code=0
        at n1 "$companion" watch --once --json --stuck 1 >"$which.look" 2>"$which.look.err" || code=$?
        if [ $code = 1 ]; then
            live=$(cat "$which.look")
            break
        fi
        if [ $code = 2 ]; then sleep 0.3; fi
    done
    # All ranks at once, whose processes are seen from here: Slurm would let a stopped one go on first, and MPI would end
    # those whose peers have gone.
    pkill -KILL '^broken-' || true
    while [ -n "$(squeue -h -n "$which" 2>/dev/null)" ]; do
        scancel --signal=KILL --name="$which" 2>/dev/null || true
        sleep 0.3
    done
    wait $launcher || true
    srun -N3 -n3 --ntasks-per-node=1 "$companion" recover -o "$PWD/$which.mpitrace" >"$which.recover" 2>&1 || true
    dead=$("$companion" info --json "$which.mpitrace") || true
    printf '{"which": "%s", "live": %s, "dead": %s}\n' "$which" "$live" "${dead:-null}"
done
