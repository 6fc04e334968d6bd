#!/bin/sh
# What `mpitrace watch` says of each of the broken programs (tests/programs/broken.c, undone.c), as lines of a table:
#
#   tests/broken.sh LIBRARY FOLDER [PROGRAM...] >docs/developers/measurements/broken.txt
#
# LIBRARY is a folder with bin/mpicc and bin/mpiexec, as below target/mpi, FOLDER one with mpitrace and libmpitrace.so.
# Programs that hang are looked at until there is a verdict, those that end by `mpitrace info`.
set -u
library=$(cd "$1" && pwd) tools=$(cd "$2" && pwd)
shift 2
chosen=$*
cd "$(dirname "$0")/programs"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export COLUMNS=1000 MPITRACE_CALLSITE=1 MPITRACE_SEGMENT_DIR="$work" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 FI_PROVIDER=tcp
oversubscribe=
"$library/bin/mpiexec" --version 2>&1 | grep -q 'Open MPI\|OpenRTE' && oversubscribe=--oversubscribe

# The comment above the function of this name, on one line.
about() { awk -v name="static void $2(" '/^\/\*/ { text = "" } { text = text " " $0 } index($0, name) == 1 { print text; exit }' "$1" |
    sed 's/ *\/\* *//; s/ *\*\/.*//; s/  */ /g; s/ \* / /g'; }

row() { printf '| `%s`: %s | %s |\n' "$1" "$2" "$(printf '%s' "$3" | sed 's/|/\\|/g')"; }

date +%F
"$tools/mpitrace" --version
printf '\n| program | verdict |\n|---|---|\n'
"$library/bin/mpicc" -g -w broken.c -o "$work/broken" -lm && "$library/bin/mpicc" -g -w undone.c -o "$work/undone" || exit
wanted() { [ -z "$chosen" ] || case " $chosen " in *" $1 "*) ;; *) return 1 ;; esac; }
for name in $(sed -n 's/^    {"\([a-z_]*\)", .*/\1/p' broken.c); do
    wanted "$name" || continue
    ranks=3
    case $name in circle | half | pair) ranks=4 ;; esac
    MPITRACE_OUTPUT="$work/t.mpitrace" LD_PRELOAD="$tools/libmpitrace.so" \
        "$library/bin/mpiexec" $oversubscribe -n $ranks "$work/broken" "$name" </dev/null >"$work/out" 2>&1 &
    job=$! said=
    for k in $(seq 60); do
        sleep 0.5
        said=$("$tools/mpitrace" watch $job --once --stuck 2 --stacks none 2>&1 | sed -n 's/^STUCK: //p; /^MISMATCH/p' | head -n 1)
        [ -z "$said" ] || break
        kill -0 $job 2>/dev/null || break
    done
    row "$name" "$(about broken.c "$name")" "${said:-no verdict: it ended}"
    # This script's own processes alone: others of this user may run traced jobs.
    for link in /proc/[0-9]*/exe; do
        [ "$(readlink "$link" 2>/dev/null)" != "$work/broken" ] || kill -9 "$(basename "$(dirname "$link")")"
    done
    kill $job 2>/dev/null
    wait $job 2>/dev/null
    rm -f "$work"/mpitrace-* "$work"/*.segment
done
sed -n 's/^ \*   \([A-Za-z_, ]*[a-z]\)   *\(.*\)/\1|\2/p' undone.c | grep -v '^legal\|^cancel' | while IFS='|' read -r names what; do
    for name in $(echo "$names" | tr -d ,); do
        wanted "$name" || continue
        rm -f "$work/t.mpitrace"
        "$tools/mpitrace" run --verbose 0 -o "$work/t.mpitrace" -- \
            timeout 20 "$library/bin/mpiexec" $oversubscribe -n 2 "$work/undone" "$name" </dev/null >"$work/out" 2>&1
        said=$("$tools/mpitrace" info "$work/t.mpitrace" 2>&1 | sed -n '/^ranks/q; p' | head -n 1)
        row "$name" "$what" "$said"
    done
done
