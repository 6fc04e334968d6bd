#!/bin/bash
# Everything that a change has to pass, in order; stops at the first failure. Installs what it needs. See
# docs/developers/tests.md.
#
#   tests/run.sh               the first tier: what CI runs
#   tests/run.sh --all         the second: everything but soaks, before an issue is called resolved
#   tests/run.sh --soak NAME   one of those that take long or want a machine of their own:
#     load     the first tier's whole programs three times while all processors are busy otherwise
#     idle     what can only be told where nothing else runs
#     mpi4py   mpi4py's whole test-suite on each library
#     fuzz     each fuzz target for ten minutes
#     deaths   each way in which a job can die, 100 times on each library at random moments, also over nodes
#     causes   each cause that diagnose has to name, 100 times on each library
#     mpich    MPICH's own test-suite on Debian's libraries; MPICH_TESTS names its folder test/mpi
#     nfs      jobs on two emulated machines that share a folder by NFS
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null
. tests/results.sh

head=$(result_head tests/run.sh "$@")
case "${1:-} $#" in
    " 0") tier=first ;;
    "--all 1") tier=all ;;
    "--soak 2") tier=$2 ;;
    *)
        sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
        exit 2
        ;;
esac

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/tests"
target=$(cd "$target" && pwd)
log=$target/tests/run.log rows=$target/tests/run.rows
# The table that a soak leaves, with its figures.
table=$target/tests/$tier.md
: >"$rows"
rm -f "$table"
# On Debian all that the tests need can be had: there a test that cannot run is a failure.
if [ -e /etc/debian_version ] && [ "$(uname -m)" = x86_64 ]; then export NOTHING_SKIPPED=1; fi
# One profile for the linter's crates, the tests and what they test: so every dependency is built once.
profile=checked
# Without Parquet and Arrow, which take a third of the time of a build from nothing.
features=
if [ $tier != all ]; then features=--no-default-features; fi
# Tests that compute for long, and find what others find too.
slow=(of_a_long_series what_only_drifts of_more_than_a_hundred_operations hostile_leftovers)

# Sets `used` to the processor time of all that this script has started and waited for, s. (A subshell has none.)
processor_seconds() {
    times >"$target/tests/times"
    used=$(awk 'NR == 2 { gsub("s", ""); split($1, user, "m"); split($2, kernel, "m")
        printf "%d", 60 * (user[1] + kernel[1]) + user[2] + kernel[2] }' "$target/tests/times")
}

# step WORDS COMMAND...: says what it does, does it, and says how long it took. (In a command that is a function of this
# file `set -e` has no effect, so it returns by itself.)
step() {
    local name=$1 started=$SECONDS failed=0 used before
    processor_seconds
    before=$used
    shift
    echo "== $name"
    "$@" 2>&1 | tee "$log" || failed=1
    local seconds=$((SECONDS - started))
    processor_seconds
    used=$((used - before))
    # The lines of libtest: test result: ok. 12 passed; 0 failed; 3 ignored; ...
    awk -v name="$name" -v seconds=$seconds -v used=$used '
        /^test result: / { for (i = 2; i <= NF; i++) { gsub(";", "", $i); count[$i] += $(i - 1) } tests++ }
        END {
            row = "| " name " | " seconds " | " used " |"
            if (tests) row = row " " count["passed"] + 0 " | " count["failed"] + 0 " | " count["ignored"] + 0 " |"
            else row = row " | | |"
            print row
        }' "$log" >>"$rows"
    if [ $failed = 1 ]; then
        echo "== $name: FAILED after $seconds s"
        result failed
        exit 1
    fi
    echo "== $name: $seconds s"
}

# The result of this tier: on stdout and, if it passed, among the measurements.
result() {
    {
        echo "$head"
        echo
        echo "**$1** after $SECONDS s"
        echo
        echo "| step | s | processor s | passed | failed | skipped |"
        echo "|---|--:|--:|--:|--:|--:|"
        cat "$rows"
        if [ -s "$table" ]; then
            echo
            cat "$table"
        fi
    } >"$log"
    cat "$log"
    if [ "$1" = passed ]; then keep_result "$tier" "$log"; fi
}

# whole_programs WHICH FILTER...: those tests alone.
whole_programs() {
    local which=$1
    shift
    TESTS_TIER=$which cargo test --profile $profile $features --test whole_programs -- "$@"
}

# What the companion says about the traces that the whole programs have left; of one of so many in the first tier.
sentences() {
    local one_of=4
    if [ $tier = all ]; then one_of=1; fi
    tests/sentences.py "$target/$profile/mpitrace" "$target/tests/runs" $one_of
}

# The workspaces that are not part of the first one are built by what needs them.
format() {
    cargo fmt --all --check &&
        cargo fmt --manifest-path tests/fuzz/Cargo.toml --check &&
        cargo fmt --manifest-path tests/models/Cargo.toml --check &&
        cargo fmt --manifest-path python/Cargo.toml --check
}

# A later step would bring an old lock file up to date without a word.
lock_files() {
    local manifest
    for manifest in Cargo.toml tests/fuzz/Cargo.toml tests/models/Cargo.toml python/Cargo.toml; do
        cargo update --quiet --workspace --locked --manifest-path $manifest || return 1
    done
}

# The whole programs are named each time: plain `cargo test` runs what needs no MPI.
clippy() {
    cargo clippy --workspace --all-targets --profile $profile $features -- -D warnings &&
        cargo clippy --workspace --test whole_programs --profile $profile $features -- -D warnings
}

build() {
    cargo test --profile $profile $features --workspace --exclude mpitrace-laboratory --no-run &&
        cargo test --profile $profile $features --test whole_programs --no-run &&
        cargo build --profile $profile $features --workspace &&
        cargo build --profile counted --package mpitrace-interpose
}

# Many of them wait for a time to pass.
unit_tests() {
    local skipped=()
    if [ $tier = first ]; then skipped=("${slow[@]/#/--skip=}"); fi
    # Tests of the headers build what the whole programs need, with the features of this tier.
    RUST_TEST_THREADS=$((3 * $(nproc))) TESTS_TIER=$tier cargo test --profile $profile $features --workspace \
        --exclude mpitrace-laboratory -- "${skipped[@]}"
}

# The libraries and tools are fetched beside the linter and the compiler.
install_beside() {
    rm -f "$target/tests/install.code"
    {
        code=0
        tests/mpi/install.sh $tier >"$target/tests/install.log" 2>&1 || code=$?
        echo $code >"$target/tests/install.code"
    } &
}
installed() {
    while [ ! -s "$target/tests/install.code" ]; do sleep 0.2; done
    cat "$target/tests/install.log"
    [ "$(cat "$target/tests/install.code")" = 0 ]
}

laboratory() {
    cargo test --profile $profile -p mpitrace-laboratory && cargo test --profile $profile -p mpitrace-tools --test benchmark
}

api_pages() { RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --profile $profile; }

licences_and_advisories() {
    local deny=$target/tools/bin/cargo-deny
    "$deny" check bans licenses sources || return 1
    # The advisories come from GitHub, which not every machine may reach.
    local advisories=https://github.com/RustSec/advisory-db
    if GIT_TERMINAL_PROMPT=0 timeout 20 git ls-remote -q $advisories HEAD >/dev/null 2>&1; then
        "$deny" check advisories
    else
        echo "no advisories checked: $advisories cannot be reached"
    fi
}

# examples FOLDER: each of them, with what FOLDER/release holds. first-run.sh builds it, which is for the second tier.
examples() {
    local script
    for script in LD_PRELOAD-examples/*.sh; do
        if [ $tier = first ] && [ "${script##*/}" = first-run.sh ]; then continue; fi
        echo "-- $script"
        CARGO_TARGET_DIR=$1 "$script" || return 1
    done
}

# In the first tier what the tests have been built with stands for the release.
examples_as_tested() {
    mkdir -p "$target/tests/examples"
    ln -sfn "$target/$profile" "$target/tests/examples/release"
    ln -sfn "$target/mpi" "$target/tests/examples/mpi"
    examples "$target/tests/examples"
}

# A loop for each processor, and one more, beside the command.
under_load() {
    local busy=() code=0
    for _ in $(seq "$(($(nproc) + 1))"); do
        (while :; do :; done) &
        busy+=($!)
    done
    "$@" || code=$?
    kill "${busy[@]}"
    wait "${busy[@]}" 2>/dev/null
    return $code
}

case $tier in
    first | all)
        install_beside
        step "lock files" lock_files
        step "format" format
        step "rooms" tests/lines.py
        step "clippy" clippy
        step "build" build
        step "MPI libraries and tools" installed
        step "unit tests" unit_tests
        step "whole programs" whole_programs $tier
        step "sentences" sentences
        ;;&
    first)
        step "examples" examples_as_tested
        # The commands of the pages that a new user reads first, those that show what the papers have, and all links.
        step "documentation" tests/documentation.sh first README.md docs/tutorial.md \
            docs/how-to/warm-up-in-a-library.md docs/developers/sources-covered.md
        ;;
    all)
        step "laboratory" laboratory
        step "the guide, on a copy of the sources" tests/guide.py
        step "arm64 and a PMU, emulated" tests/machine/run.sh all
        step "other systems, and Open MPI 6" tests/systems/run.sh
        step "models, threads and memory" tests/unsafe.sh
        # So many seconds a target.
        step "fuzzing" tests/fuzz/run.sh "${TESTS_FUZZ:-20}"
        step "dependencies" licences_and_advisories
        step "API pages" api_pages
        step "release" cargo build --release --workspace
        step "a campaign of 200 jobs" tests/cluster/many_jobs.sh
        step "packages" tests/packages.sh
        step "examples" examples "$target"
        step "commands in the documentation" tests/documentation.sh all
        step "first days of five users" tests/first_days.py
        ;;
    load)
        step "whole programs built" cargo test --profile $profile $features --test whole_programs --no-run
        for turn in 1 2 3; do
            step "turn $turn" under_load whole_programs first
        done
        ;;
    idle)
        export TESTS_IDLE=1
        step "what only an idle machine shows" whole_programs all --test-threads 1 analysis::
        step "many ranks of Open MPI" whole_programs all --test-threads 1 where_nothing_else_runs
        ;;
    fuzz)
        step "ten minutes a target" tests/fuzz/run.sh 600
        ;;
    mpi4py)
        export MPI4PY_WHOLE_SUITE=1
        step "the whole suite" whole_programs all mpi4py_passes
        ;;
    deaths)
        export TESTS_SOAK="${TESTS_SOAK:-100}"
        step "each fault $TESTS_SOAK times" whole_programs all random_death::
        step "$TESTS_SOAK ends over nodes by each launcher" whole_programs all cluster_deaths::
        ;;
    causes)
        export TESTS_SOAK="${TESTS_SOAK:-100}"
        step "each cause $TESTS_SOAK times" whole_programs all --test-threads 1 causes::
        ;;
    mpich)
        : "${MPICH_TESTS:?names the folder test/mpi of the sources of MPICH}"
        rm -rf "$target"/tests/mpich-suite/*/*.txt
        step "the suite of MPICH" whole_programs all suites::
        cat "$target"/tests/mpich-suite/*/*.txt | sed 's/^/* /' >"$table"
        ;;
    nfs)
        step "two machines that share a folder by NFS" tests/machine/nfs/run.sh
        ;;
    *)
        echo "no soak is called $tier: load, idle, mpi4py, fuzz, deaths, causes, mpich, nfs" >&2
        exit 2
        ;;
esac
result passed
echo "== all passed in $SECONDS s"
