#!/bin/bash
# tests/cluster/ancestors.sh COMMAND...: the command; names each process above it that has the tracer.
set -euo pipefail
process=$PPID
while [ "$process" -gt 0 ]; do
    if grep -q libmpitrace "/proc/$process/maps"; then
        echo "rank started by $(cat "/proc/$process/comm"), which has the tracer"
    fi
    process=$(($(ps -o ppid= -p "$process")))
done
exec "$@"
