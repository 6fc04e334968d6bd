#!/bin/bash
# tests/machine/nfs/run.sh: whole programs on two machines (amd64, emulated, by KVM where this machine has it) that share a
# folder by NFS: the first one exports it, and both use it by NFS. The kernel and all programs are Debian's.
#
# All is kept in target/nfs; the second machine's console is in target/nfs/node2.txt, and what the tests wrote in
# target/nfs/runs.
set -euo pipefail
cd "$(dirname "$0")/../../.."
root=$PWD
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
machine=$target/nfs
mkdir -p "$machine"
. tests/machine/packages.sh
. tests/machine/kernel.sh
profile=checked
say() { echo "nfs: $*"; }

# Both machines are on this network, a multicast address on the loopback device; the number keeps runs apart.
network=230.0.0.1:$((20000 + $$ % 20000))

# What both machines see as /stage.
stage=$machine/stage
build() {
    local built tests
    built=$(cargo test --no-run --profile $profile --test whole_programs 2>&1) || { echo "$built"; return 1; }
    tests=$(sed -n 's/.*Executable.*(\(.*whole_programs.*\))$/\1/p' <<<"$built")
    cargo build --quiet --profile $profile -p mpitrace-interpose -p mpitrace-tools || return 1
    rm -rf "$stage" "$machine/work.ext4"
    mkdir -p "$stage/$profile/deps" "$stage/tests" "$stage/repository/tests"
    cp "$target/$profile/libmpitrace.so" "$target/$profile/mpitrace" "$stage/$profile/"
    cp "$tests" "$stage/$profile/deps/whole_programs"
    cp -r tests/programs "$stage/repository/tests/"
    cp -r include "$stage/repository/"
    # Where the tests look for their sources, and what is run.
    printf '%s\n' "root='$root'" "profile=$profile" >"$stage/settings"
    mke2fs -q -t ext4 -O ^has_journal,quota -E root_owner=0:0,quotatype=usrquota -d "$stage" "$machine/work.ext4" 1500M
}

# Not every /dev/kvm runs Debian's kernel: one without these two does not.
accelerator='-accel tcg,thread=multi -cpu max'
if [ -w /dev/kvm ] && grep -qwE 'svm|vmx' /proc/cpuinfo; then accelerator='-accel kvm -cpu host'; fi

# node NUMBER OPTIONS...: one of the machines, for half an hour at most.
# shellcheck disable=SC2086 # a list
node() {
    local number=$1
    shift
    TMPDIR=$machine timeout --foreground 1800 qemu-system-x86_64 $accelerator -m 1536 -smp 2 -display none \
        -serial stdio -monitor none -no-reboot -kernel "$machine/vmlinuz" -initrd "$machine/starter.cpio" \
        -append "console=ttyS0 quiet panic=-1 node=$number" \
        -drive "if=none,id=disk,file=$machine/disk.ext4,format=raw,snapshot=on" -device virtio-blk-pci,drive=disk \
        -netdev "socket,id=net,mcast=$network,localaddr=127.0.0.1" \
        -device "virtio-net-pci,netdev=net,mac=52:54:00:00:00:0$number,romfile=" "$@" </dev/null | tr -d '\r'
}

installed qemu-system-x86 cpio
tests/machine/nfs/image.sh
build
# A process group of its own, which can be ended as a whole.
set -m
node 2 >"$machine/node2.txt" 2>&1 &
second=$!
set +m
trap 'kill -- -$second 2>/dev/null || true' EXIT
node 1 -drive "if=none,id=work,file=$machine/work.ext4,format=raw" -device virtio-blk-pci,drive=work |
    tee "$machine/node1.txt"
# The first one turns the second one off; one that came to no good end leaves it running.
for _ in $(seq 10); do kill -0 $second 2>/dev/null && sleep 1; done
kill -- -$second 2>/dev/null || true
wait $second 2>/dev/null || true
trap - EXIT
code=$(sed -n 's/^machine: ended with //p' "$machine/node1.txt" | tail -n 1)
rm -rf "$machine/runs"
debugfs -R "rdump /tests/runs $machine" "$machine/work.ext4" >/dev/null 2>&1 || true
rm -f "$machine/work.ext4"
[ -n "$code" ] || say "the first machine did not come to its end"
exit "${code:-1}"
