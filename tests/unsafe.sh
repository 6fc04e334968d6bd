#!/bin/bash
# What checks unsafe code and the order of its loads and stores: the model of tests/models, and the unit tests of the
# preloaded library under ThreadSanitizer and under valgrind's memcheck. See docs/developers/reliability.md.
#
#   tests/unsafe.sh [models] [threads] [memory]   all of them without a name
set -euo pipefail
cd "$(dirname "$0")/.."

checks=("$@")
[ $# -gt 0 ] || checks=(models threads memory)
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
target=$(cd "$target" && pwd)
host=$(rustc -vV | sed -n 's/^host: //p')

# Not among these: tests that ask what the machine's own counters say (perf), which neither tool can show.
except=(--skip counters::perf)

skip() {
    echo "$1 skipped: $2"
    [ "${NOTHING_SKIPPED:-}" = "" ] || exit 1
}

# Every order in which two threads can run through the shared words of the trace buffer.
models() {
    CARGO_TARGET_DIR=$target/models cargo test --manifest-path tests/models/Cargo.toml
}

# The standard library is built with the sanitizer too: its locks order what threads do. Both are options of unstable
# compilers; a stable one takes them all the same when it is told so.
threads() {
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/src/rust/library" ] && ! rustup component add rust-src; then
        skip "threads" "no source of the standard library (rustup component add rust-src)"
        return
    fi
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=thread" \
        cargo test -Zbuild-std --profile checked --target "$host" --target-dir "$target/tsan" \
        -p mpitrace-interpose --lib -- "${except[@]}"
}

memory() {
    if ! command -v valgrind >/dev/null; then
        skip "memory" "no valgrind"
        return
    fi
    CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=9 --leak-check=no" \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=9 --leak-check=no" \
        cargo test --profile checked -p mpitrace-interpose --lib -- --test-threads 1 "${except[@]}"
}

for check in "${checks[@]}"; do
    case $check in
        models | threads | memory)
            echo "-- $check"
            $check
            ;;
        *)
            sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
            exit 2
            ;;
    esac
done
