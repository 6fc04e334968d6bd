#!/bin/bash
# Everything that a change has to pass, in order; stops at the first failure. Installs what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null

target=${CARGO_TARGET_DIR:-target}
# On Debian all that the tests need can be had: there a test that cannot run is a failure.
if [ -e /etc/debian_version ] && [ "$(uname -m)" = x86_64 ]; then export NOTHING_SKIPPED=1; fi

# step WORDS COMMAND...: says what it does, does it, and says how long it took. (In a command that is a function of this
# file `set -e` has no effect, so it returns by itself.)
step() {
    local name=$1 started=$SECONDS
    shift
    echo "== $name"
    if ! "$@"; then
        echo "== $name: FAILED after $((SECONDS - started)) s"
        exit 1
    fi
    echo "== $name: $((SECONDS - started)) s"
}

licences_and_advisories() {
    local deny=$target/tools/bin/cargo-deny
    "$deny" check bans licenses sources || return 1
    # The advisories come from GitHub, which not every machine may reach.
    if GIT_TERMINAL_PROMPT=0 timeout 20 git ls-remote -q https://github.com/RustSec/advisory-db HEAD >/dev/null 2>&1; then
        "$deny" check advisories
    else
        echo "no advisories checked: https://github.com/RustSec/advisory-db cannot be reached"
    fi
}

examples() {
    local script
    for script in LD_PRELOAD-examples/*.sh; do
        echo "-- $script"
        "$script" || return 1
    done
}

step "MPI libraries and tools" tests/mpi/install.sh
step "format" cargo fmt --all --check
step "clippy" cargo clippy --workspace --all-targets --profile checked -- -D warnings
step "clippy of the tests on whole programs" cargo clippy --test whole_programs --profile checked -- -D warnings
step "build" cargo build --release --workspace
step "tests" cargo test --profile checked
step "tests on whole programs" cargo test --profile checked --test whole_programs
step "dependencies" licences_and_advisories
step "examples" examples
step "commands in the documentation" tests/documentation.sh
echo "== all passed in $SECONDS s"
