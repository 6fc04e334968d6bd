#!/bin/bash
# Runs a benchmark of benches/, and keeps what it prints in docs/developers/measurements/, with date, machine and command.
#
#   tests/measure.sh NAME [VARIABLE=VALUE | OPTION]...
#
#   tests/measure.sh call_kinds TURNS=7
#   tests/measure.sh rank_scale PROFILE=checked                  in this profile of cargo; else release
#   tests/measure.sh statistics coverage AS=statistics_coverage  kept as statistics_coverage.txt; else NAME.txt
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/results.sh

name=${1:-}
if [ -z "$name" ] || [ "${name#-}" != "$name" ]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
shift
variables=() options=() profile= kept_as=$name
for argument in "$@"; do
    case $argument in
        PROFILE=*) profile=${argument#*=} ;;
        AS=*) kept_as=${argument#*=} ;;
        [A-Z]*=*) variables+=("$argument") ;;
        *) options+=("$argument") ;;
    esac
done

# The benchmarks run the libmpitrace.so and mpitrace of their own profile.
cargo build --profile "${profile:-release}" --workspace
command=(cargo bench --workspace ${profile:+--profile "$profile"} --bench "$name")
[ ${#options[@]} = 0 ] || command+=(-- "${options[@]}")
result=$(mktemp)
trap 'rm -f "$result"' EXIT
# The head is written first: it has the load before the benchmark.
{
    result_head ${variables[@]+"${variables[@]}"} "${command[@]}"
    echo
} >"$result"
env ${variables[@]+"${variables[@]}"} "${command[@]}" | tee -a "$result"
keep_result "$kept_as" "$result"
