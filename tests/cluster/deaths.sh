#!/bin/bash
# tests/cluster/deaths.sh COMPANION PLAN COMMAND...: on `head`, runs the command, with returned.c, once for each line of
# PLAN, and has the nodes recover what it left. A line: FOLDER SENDER DELAY_S VARIABLES HOW RANK CALLS DELAY_US.
#
# FOLDER, of this try, gets left.NODE, what `recover --list --json` shows on each node that lives, and
# recovered.mpitrace. The ranks read VARIABLES, `export NAME=VALUE...`, with `,` for a space, from FOLDER/settings.
# SENDER ends the job DELAY_S after a first rank is there:
#
#   rank       nobody does: a rank ends itself
#   ranks      SIGKILL to all ranks
#   node       SIGKILL to the ranks of n2
#   launcher   SIGKILL to the launcher
#   terminate  SIGTERM to the launcher
#   cancel     scancel of the step
#   power      n3 dies: the last line of a plan
set -euo pipefail
companion=$1 plan=$2
shift 2
nodes="n1 n2 n3"

ranks() { pgrep '^returned-' >/dev/null; }

# ended LIMIT_S: true once the launcher, all ranks, and the job of the batch system have ended.
ended() {
    for _ in $(seq $(($1 * 10))); do
        if ! kill -0 $launcher 2>/dev/null && ! ranks && [ -z "$(squeue -h 2>/dev/null)" ]; then return; fi
        sleep 0.1
    done
    return 1
}

send() {
    case $sender in
        rank) ;;
        ranks) pkill -KILL '^returned-' || true ;;
        node) at n2 pkill -KILL ^returned- || true ;;
        launcher) kill -KILL $launcher || true ;;
        terminate) kill -TERM $launcher || true ;;
        cancel) scancel --user=root ;;
        power)
            kill -KILL "$(cat "$(dirname "$(command -v at)")/../first/n3")"
            nodes="n1 n2"
            ;;
    esac
}

while read -r folder sender delay variables how rank calls us <&3; do
    mkdir -p "$folder"
    echo "export ${variables//,/ }" >"$folder/settings"
    "$@" "$folder" "$how" "$rank" "$calls" "$us" >"$folder/said" 2>&1 </dev/null &
    launcher=$!
    for _ in $(seq 600); do
        if ranks || ! kill -0 $launcher 2>/dev/null; then break; fi
        sleep 0.05
    done
    sleep "$delay"
    send
    # A launcher may leave ranks behind, or wait for a dead node.
    limit=10
    if [[ $variables = *DIES_AT* ]]; then limit=60; fi
    if ! ended $limit; then
        echo "ended from outside" >>"$folder/said"
        pkill -KILL '^returned-' || true
        kill -KILL $launcher 2>/dev/null || true
        scancel --signal=KILL --user=root 2>/dev/null || true
        scancel --user=root 2>/dev/null || true
        ended 5 || true
    fi
    wait $launcher 2>/dev/null || true
    for node in $nodes; do
        at "$node" "$companion" recover --list --json >"$folder/left.$node" 2>"$folder/list.$node" || true
    done
    recovers=()
    for node in $nodes; do
        if grep -q '"file"' "$folder/left.$node"; then
            at "$node" "$companion" recover -o "$folder/recovered.mpitrace" >"$folder/recover.$node" 2>&1 &
            recovers+=($!)
        fi
    done
    for process in ${recovers[@]+"${recovers[@]}"}; do wait "$process" || true; done
    for node in $nodes; do at "$node" find /dev/shm -mindepth 1 -delete || true; done
done 3<"$plan"
