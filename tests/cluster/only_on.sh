#!/bin/bash
# tests/cluster/only_on.sh NODE COMMAND...: the command, on other nodes without its assignment of LD_PRELOAD.
set -euo pipefail
node=$1
shift
words=()
for word in "$@"; do
    if [[ $word != LD_PRELOAD=* || $(hostname) = "$node" ]]; then words+=("$word"); fi
done
exec "${words[@]}"
