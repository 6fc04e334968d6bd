#!/bin/bash
# tests/cluster/killed.sh HOW COMPANION TRACE COMMAND...: on `head`, runs the command, ends it when its 6 ranks have each
# made a file ready.RANK beside TRACE, and has the nodes recover what it left into TRACE.
#
#   cancel    a batch job that is cancelled; the nodes recover in a later job
#   limit     a batch job that reaches its time limit; the same
#   warned    a batch job that gets a signal before its time limit, and recovers by itself
#   epilogue  a batch job that is cancelled; the nodes' epilogue recovers
#   account   a batch job that is cancelled; the nodes recover 5 s later, and date its end by what `sacct` says of it, which
#             is in the file ended beside TRACE, in seconds since 1970
#   node      no batch job; n3 dies, and the others recover
set -euo pipefail
how=$1 companion=$2 trace=$3
shift 3
folder=$(dirname "$trace")
per_node="srun -N3 -n3 --ntasks-per-node=1"

ready() { until [ "$(find "$folder" -maxdepth 1 -name 'ready.*' | wc -l)" = 6 ]; do sleep 0.05; done; }
over() { while [ -n "$(squeue -h -j "$1" 2>/dev/null)" ]; do sleep 0.1; done; }

# submit OPTIONS... COMMAND: the command as a batch job.
submit() {
    printf '#!/bin/bash\n%s\n' "${*: -1}" >"$folder/job"
    job=$(sbatch --parsable -o "$folder/job.out" -N3 --ntasks-per-node=2 --time=10 "${@:1:$#-1}" "$folder/job")
    trap 'cat "$folder/job.out" >&2' EXIT
    ready
}

command=$(printf '%q ' "$@")
case $how in
    cancel | limit | epilogue | account)
        submit "$command"
        if [ "$how" = limit ]; then
            # Limits are whole minutes. Slurm looks every 30 s.
            scontrol update JobId="$job" EndTime=now+1
        else
            scancel "$job"
        fi
        over "$job"
        ended=()
        if [ "$how" = account ]; then
            sleep 5
            until end=$(sacct -nX -o End -j "$job") && date -d "$end" +%s >"$folder/ended" 2>/dev/null; do sleep 0.2; done
            # shellcheck disable=SC2206 # sacct adds blanks
            ended=(--ended $end)
        fi
        if [ "$how" != epilogue ]; then $per_node "$companion" recover "${ended[@]}" -o "$trace"; fi
        ;;
    warned)
        submit --signal=B:USR1@120 "
            trap 'kill \$step; wait \$step; $per_node $companion recover -o $trace; exit 0' USR1
            $command & step=\$!
            wait \$step"
        scontrol update JobId="$job" EndTime=now+120
        over "$job"
        ;;
    node)
        "$@" &
        launcher=$!
        ready
        kill -KILL "$(cat "$(dirname "$(command -v at)")/../first/n3")"
        for _ in $(seq 50); do kill -0 $launcher 2>/dev/null && sleep 0.1; done
        kill -KILL $launcher 2>/dev/null || true
        wait $launcher || true
        # A launcher may leave ranks behind that wait for the dead node.
        for node in n1 n2; do at $node pkill -KILL ^endless- || true; done
        for node in n1 n2; do at $node "$companion" recover -o "$trace" & done
        wait
        ;;
esac
for node in n1 n2 n3; do
    if [ "$how" = node ] && [ $node = n3 ]; then continue; fi
    at $node find /dev/shm -name 'mpitrace-*' | sed 's/^/left behind: /'
done
