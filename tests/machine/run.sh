#!/bin/bash
# tests/machine/run.sh WHAT: builds for arm64, and runs tests in an emulated arm64 machine that has a PMU.
#
#   exact         the library's own tests of perf events, and whole programs whose instructions are known. The emulator
#                 counts instructions: one and the same program executes the same number each time
#   exact --if-made   the same if the machine has been made before; else says so and ends well
#   all           exact, the instructions of each MPI library, and the whole programs of the list below at full speed
#   only NAME...  whole programs by parts of their names, at full speed
#   make          makes the machine and builds what runs in it
#
# All is kept in target/machine: the compiler for arm64 (toolchain.sh), the disk of the machine (image.sh), the build. The
# last boot's output is in target/machine/console.txt, and what its tests wrote in target/machine/runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
machine=${CARGO_TARGET_DIR:-target}/machine
mkdir -p "$machine"
machine=$(cd "$machine" && pwd)
root=$PWD
triple=aarch64-unknown-linux-gnu
# Its instructions are counted: without the checks of the profile `checked`.
profile=counted
say() { echo "machine: $*"; }

# What the second tier runs beside the exact tests, by parts of their names.
list='emulated_machine::has_a_system_counter counts::of_a_program_on_two counts::times requests::that_persist_are
    languages::fortran clocks::of_one_machine clocks::of_a_killed death::by_sigkill_loses death::by_abort_loses
    call_sites:: collectives::of_every requests::of_every counters::of_the_kernel sessions::within'
# The library's own tests that are about the processor.
units='perf:: tls:: error_handlers:: call_site::'

what=${1:-}
[ -n "$what" ] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
shift
if [ "${1:-}" = --if-made ]; then
    if [ ! -e "$machine/disk.stamp" ]; then
        say "not made yet, and making it takes minutes: tests/run.sh --all does. Nothing was run"
        exit 0
    fi
    shift
fi

# build: the library, the companion and the tests, into $stage as they lie on the machine's second disk.
stage=$machine/stage
build() {
    local settings built tests library
    mapfile -t settings < <(tests/machine/toolchain.sh)
    export CARGO_TARGET_DIR=$machine/build
    local cargo=(env "${settings[@]}" cargo)
    # Without Parquet and Arrow, which are most of a build of the companion.
    "${cargo[@]}" build --quiet --profile $profile --target $triple -p mpitrace-interpose -p mpitrace-tools \
        --no-default-features || return 1
    built=$("${cargo[@]}" test --no-run --profile $profile --target $triple --test whole_programs 2>&1) ||
        { echo "$built"; return 1; }
    tests=$(sed -n 's/.*Executable.*(\(.*whole_programs.*\))$/\1/p' <<<"$built")
    built=$("${cargo[@]}" test --no-run --profile $profile --target $triple -p mpitrace-interpose --lib 2>&1) ||
        { echo "$built"; return 1; }
    library=$(sed -n 's/.*Executable.*(\(.*\))$/\1/p' <<<"$built")
    unset CARGO_TARGET_DIR
    rm -rf "$stage"
    mkdir -p "$stage/$profile/deps" "$stage/mpi" "$stage/tests" "$stage/repository/tests"
    cp "$machine/build/$triple/$profile/libmpitrace.so" "$machine/build/$triple/$profile/mpitrace" "$stage/$profile/"
    cp "$tests" "$stage/$profile/deps/whole_programs"
    cp "$library" "$stage/$profile/deps/library"
    cp -r tests/programs "$stage/repository/tests/"
    cp -r include "$stage/repository/"
    for folder in mpich5 ompi5; do ln -s "/opt/mpi/$folder" "$stage/mpi/$folder"; done
    # The programs that the machine has compiled, as long as its disk is the same.
    if cmp -s "$machine/disk.stamp" "$machine/programs/stamp"; then
        cp -r "$machine/programs" "$stage/tests/programs"
    fi
}

# boot LIMIT EMULATOR-OPTIONS... -- COMMANDS: starts the machine, which runs those commands of a shell and is turned off.
boot() {
    local limit=$1 options=() size code
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    {
        echo '#!/bin/bash'
        # The tests look for their sources where they were built.
        echo "mkdir -p '$(dirname "$root")' && ln -sfn /stage/repository '$root'"
        echo "echo 1 >/proc/sys/kernel/perf_user_access"
        # Nothing is built there.
        echo "export TESTS_MACHINE=1 TESTS_TIER=all CARGO=/bin/true"
        echo "code=0"
        echo "whole_programs() { $profile/deps/whole_programs --test-threads 1 \"\$@\" || code=1; }"
        echo "library() { $profile/deps/library --test-threads 1 \"\$@\" || code=1; }"
        echo "$2"
        echo "exit \$code"
    } >"$stage/commands"
    chmod +x "$stage/commands"
    size=$(du -sm "$stage" | cut -f 1)
    rm -f "$machine/work.ext4"
    mke2fs -q -t ext4 -O ^has_journal -E root_owner=0:0 -d "$stage" "$machine/work.ext4" "$((size + 700))M" >&2 || return 1
    TMPDIR=$machine timeout "$limit" qemu-system-aarch64 -M virt -cpu max,pmu=on,sve=off,pauth-impdef=on -smp 2 -m 3G \
        -display none -serial stdio -monitor none -nic none -no-reboot "${options[@]}" \
        -kernel "$machine/vmlinuz" -initrd "$machine/starter.cpio" -append "console=ttyAMA0 quiet panic=-1" \
        -drive "if=none,id=disk,file=$machine/disk.ext4,format=raw,snapshot=on" -device virtio-blk-pci,drive=disk \
        -drive "if=none,id=work,file=$machine/work.ext4,format=raw" -device virtio-blk-pci,drive=work \
        </dev/null | tr -d '\r' | tee "$machine/console.txt"
    code=$(sed -n 's/^machine: ended with //p' "$machine/console.txt" | tail -n 1)
    rm -rf "$machine/programs" "$machine/runs"
    debugfs -R "rdump /tests/runs $machine" "$machine/work.ext4" >/dev/null 2>&1 || true
    # What a machine that was stopped has written last is not on its disk.
    if [ -n "$code" ]; then
        debugfs -R "rdump /tests/programs $machine" "$machine/work.ext4" >/dev/null 2>&1 || true
    fi
    if [ -d "$machine/programs" ]; then cp "$machine/disk.stamp" "$machine/programs/stamp"; fi
    rm -f "$machine/work.ext4"
    [ -n "$code" ] || say "it did not come to its end in $limit s, or stopped"
    return "${code:-1}"
}

# Each instruction takes 2 ns of the machine's time.
exact() {
    local commands=''
    # With what a test of a reading counts.
    for unit in $units; do commands+="library $unit --show-output; "; done
    commands+='whole_programs processor_counters::are_exact; '
    boot 600 -icount shift=1 -- "$commands whole_programs emulated_machine:: --skip has_a_system_counter"
}

# A rank that spins keeps a processor until the kernel takes it away: with two processors, which take turns in the emulator
# every 100 ms, that is far longer than with one.
polling() {
    boot 1800 -icount shift=1 -smp 1 -- "whole_programs a_library_that_polls::"
}

# fast NAME...: whole programs, at full speed.
fast() {
    local commands='' name
    for name in "$@"; do commands+="whole_programs $name; "; done
    boot 5400 -accel tcg,thread=multi -- "$commands"
}

tests/machine/image.sh
build
case $what in
    exact) exact ;;
    # shellcheck disable=SC2086 # a list
    all) code=0; exact || code=1; polling || code=1; fast $list || code=1; exit $code ;;
    only) fast "$@" ;;
    make) ;;
    *) say "no part is called $what: exact, all, only, make" >&2; exit 2 ;;
esac
