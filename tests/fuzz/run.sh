#!/bin/bash
# Fuzzes what reads files that other people have made.
#
#   tests/fuzz/run.sh SECONDS [TARGET...]   each target for so long, one after the other: reader, recover, join, csv,
#                                           reprompi. See docs/developers/reliability.md
#
# What was found before is below target/fuzz/corpus and is taken up again. An input that crashes a target, takes longer
# than 10 s or more memory than 1 GiB ends the run; it is below target/fuzz/found.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-}
if ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
shift
targets=("$@")
[ $# -gt 0 ] || targets=(csv reprompi reader recover join)

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/fuzz"
target=$(cd "$target" && pwd)
PATH=$target/tools/bin:$PATH

skip() {
    echo "fuzzing skipped: $1"
    [ "${NOTHING_SKIPPED:-}" = "" ] || exit 1
    exit 0
}
command -v cargo-fuzz >/dev/null || skip "no cargo-fuzz; tests/mpi/install.sh builds it"
command -v c++ >/dev/null || skip "no C++ compiler, which libFuzzer needs"

# The sanitizer is an option of unstable compilers; a stable one takes it all the same when it is told so.
RUSTC_BOOTSTRAP=1 cargo fuzz build --fuzz-dir tests/fuzz --target-dir "$target/fuzz"
binaries=$target/fuzz/$(rustc -vV | sed -n 's/^host: //p')/release
"$binaries/seeds" "$target/fuzz/seeds"

# Files that recover works on: in memory, where there is room.
memory=/dev/shm
[ -w $memory ] || memory=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$memory/mpitrace-fuzz-XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# One processor: the reader shares its work out among those that it may use.
one=(nice -n 19)
if command -v taskset >/dev/null; then
    one+=(taskset -c "$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)")
fi

rows="| target | executions | inputs kept | edges | s |
|---|--:|--:|--:|--:|"
for name in "${targets[@]}"; do
    mkdir -p "$target/fuzz/corpus/$name" "$target/fuzz/found"
    log=$target/fuzz/$name.log
    echo "-- $name: $seconds s"
    if ! "${one[@]}" "$binaries/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 \
        -max_len=24000 -print_final_stats=1 -artifact_prefix="$target/fuzz/found/$name-" \
        "$target/fuzz/corpus/$name" "$target/fuzz/seeds/$name" >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "fuzzing: $name FAILED; all of it: $log"
        exit 1
    fi
    # #123 DONE cov: 45 ft: 67 corp: 89/10Kb ...
    rows+=$'\n'$(awk -v name="$name" -v seconds="$seconds" '
        $2 == "DONE" {
            for (i = 3; i < NF; i++) if ($i == "cov:") edges = $(i + 1); else if ($i == "corp:") corpus = $(i + 1)
            sub("#", "", $1); sub("/.*", "", corpus); runs = $1
        }
        END { print "| " name " | " runs " | " corpus " | " edges " | " seconds " |" }' "$log")
done
mkdir -p "$target/tests"
echo "$rows" | tee "$target/tests/fuzz.md"
