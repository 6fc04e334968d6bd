#!/bin/bash
# tests/systems/run.sh [SUITE...]: whole programs on other Debians than this one, each with its own C library, Open MPI and
# MPICH, in a chroot (bookworm, trixie and forky, unless named), with the library, the companion and the tests that were
# built here. Forky has Open MPI 6, also through its library of the standard ABI.
#
#   THEMES='counts:: death::'   runs these parts of the tests' names and not those below
#
# All is kept in target/systems. Needs root.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
machine=$target/systems
mkdir -p "$machine"
. tests/machine/packages.sh
profile=checked
# Debian's MPICH 5 takes each rank for a node of its own (MPI_Comm_split_type), and the mpirun of Debian 13's Open MPI
# crashes where a job has two programs, without the tracer too: some are for the other libraries alone.
themes=${THEMES:-counts::of counts::times collectives:: requests::of_every requests::that_persist_are languages::f
    call_sites:: death::by_sigkill_loses death::by_abort clocks::of_one_machine clocks::that_are_simulated
    communicators::of_idup communicators::of_every_origin_are_told_apart::ompi
    communicators::of_further_origins_keep_their_names::ompi sessions::w preload::beside
    algorithms::that_an_operation_changes_are_a_finding_with_both_medians::ompi6
    algorithms::change_at_the_sizes_of_the_decision_functions::ompi6
    preload::into_rank_1_alone_makes_no_difference::mpich preload::into_rank_1_alone_makes_no_difference::ompi6}
say() { echo "systems: $*"; }

[ "$(id -u)" = 0 ] || { say "skipped: a chroot needs root"; exit 0; }
unshare --mount --pid --fork --uts true 2>/dev/null || { say "skipped: no name spaces may be made here"; exit 0; }
[ $# -gt 0 ] || set -- bookworm trixie forky

built=$(cargo test --no-run --profile $profile --test whole_programs 2>&1) || { echo "$built"; exit 1; }
tests=$(sed -n 's/.*Executable.*(\(.*whole_programs.*\))$/\1/p' <<<"$built")
cargo build --quiet --profile $profile -p mpitrace-interpose -p mpitrace-tools

# made SUITE FOLDER: the system, unless it is there already.
made() {
    local suite=$1 folder=$2 stamp library
    stamp=$(sha256sum <tests/machine/packages.sh)
    if [ "$(cat "$folder.stamp" 2>/dev/null)" != "$stamp" ]; then
        say "fetching and unpacking Debian's $suite (once)"
        # shellcheck disable=SC2086 # a list
        fetch "$suite" "$suite" amd64 $tested_packages || return 1
        system "$suite" "$folder" || return 1
        rm -rf "$machine/$suite.debs"
        echo "$stamp" >"$folder.stamp"
    fi
    # Debian's alternatives would choose whose library of the standard ABI has the name of all.
    for library in "$folder"/usr/lib/*/libmpi_abi_openmpi.so.*; do
        if [ -e "$library" ]; then ln -sfn "../../${library##*/}" "${library%/*}/openmpi/lib/libmpi_abi.so.1"; fi
    done
}

# inside FOLDER: mounts what a chroot lacks, in name spaces of its own, and runs the tests there.
inside() {
    local folder=$1
    unshare --mount --pid --fork --uts bash -euc '
        folder=$1 root=$2 profile=$3 themes=$4
        hostname machine
        mount -t proc proc "$folder/proc"
        mount --rbind /dev "$folder/dev"
        mount --rbind /sys "$folder/sys"
        mount -t tmpfs -o mode=1777 tmpfs "$folder/dev/shm"
        mount -t tmpfs -o mode=1777 tmpfs "$folder/tmp"
        # The tests look for their sources where they were built.
        mkdir -p "$folder$(dirname "$root")"
        ln -sfn /stage/repository "$folder$root"
        code=0
        for theme in $themes; do
            env -i PATH=/usr/bin:/usr/sbin HOME=/root LC_ALL=C TESTS_TIER=all CARGO=/bin/true \
                chroot "$folder" "/stage/$profile/deps/whole_programs" "$theme" </dev/null || code=1
        done
        exit $code
    ' inside "$folder" "$root" $profile "$themes"
}

# Which C library and MPI libraries a system has.
described() {
    local folder=$1 library
    strings -a "$folder/usr/lib/x86_64-linux-gnu/libc.so.6" |
        sed -n 's/^GNU C Library .* version \(.*\)\.$/glibc \1/p'
    for library in "$folder"/usr/lib/x86_64-linux-gnu/lib{mpi,mpi_abi_openmpi,mpich}.so.*.*; do
        if [ -e "$library" ]; then echo "${library##*/}"; fi
    done
}

code=0
for suite in "$@"; do
    folder=$machine/$suite
    made "$suite" "$folder" || { code=1; continue; }
    rm -rf "$folder/stage/$profile" "$folder/stage/repository"
    mkdir -p "$folder/stage/$profile/deps" "$folder/stage/tests" "$folder/stage/repository/tests"
    cp "$target/$profile/libmpitrace.so" "$target/$profile/mpitrace" "$folder/stage/$profile/"
    cp "$tests" "$folder/stage/$profile/deps/whole_programs"
    cp -r tests/programs "$folder/stage/repository/tests/"
    cp -r include "$folder/stage/repository/"
    say "== $suite: $(described "$folder" | paste -sd ' ')"
    inside "$folder" || code=1
done
# The headers of Open MPI 6 against the table.
if [ -e "$machine/forky.stamp" ]; then cargo test --profile $profile -p mpitrace-headers -- ompi6 || code=1; fi
exit $code
