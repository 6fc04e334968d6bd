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

suite=bookworm
packages="$tested_packages iproute2 busybox-static openssh-client openssh-server nfs-common nfs-kernel-server quota"
modules='virtio_pci virtio_blk virtio_net ext4 crc32c_generic quota_v2 sunrpc nfsd nfsv4'
# Both machines are on this network, a multicast address on the loopback device; the number keeps runs apart.
network=230.0.0.1:$((20000 + $$ % 20000))

# The right to log in on the other machine, and what daemons expect.
accounts() {
    local folder=$1 library key
    echo 'sshd:x:101:65534::/run/sshd:/usr/sbin/nologin' >>"$folder/etc/passwd"
    echo '_rpc:x:102:65534::/run/rpcbind:/usr/sbin/nologin' >>"$folder/etc/passwd"
    echo 'statd:x:103:65534::/var/lib/nfs:/usr/sbin/nologin' >>"$folder/etc/passwd"
    echo 'tester:x:1000:1000::/home/tester:/bin/bash' >>"$folder/etc/passwd"
    echo 'tester:x:1000:' >>"$folder/etc/group"
    printf '127.0.0.1 localhost\n10.0.0.1 node1\n10.0.0.2 node2\n' >"$folder/etc/hosts"
    mkdir -p "$folder"/{root/.ssh,home,export,etc/ssh,var/lib/nfs/rpc_pipefs}
    ln -sfn /proc/self/mounts "$folder/etc/mtab"
    library=$folder/usr/lib/x86_64-linux-gnu
    for key in root/.ssh/id_ed25519 etc/ssh/host; do
        rm -f "$folder/$key"
        # By the system's own loader: this one may lack ssh.
        quietly "$library/ld-linux-x86-64.so.2" --library-path "$library" \
            "$folder/usr/bin/ssh-keygen" -q -t ed25519 -N '' -C tests -f "$folder/$key" || return 1
    done
    cp "$folder/root/.ssh/id_ed25519.pub" "$folder/root/.ssh/authorized_keys"
    printf 'StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n' >"$folder/root/.ssh/config"
    chmod 700 "$folder/root/.ssh"
    chmod 600 "$folder"/root/.ssh/*
}

made() {
    local stamp size
    stamp=$(cat tests/machine/packages.sh tests/machine/kernel.sh tests/machine/nfs/{run.sh,node} | sha256sum)
    if [ "$(cat "$machine/stamp" 2>/dev/null)" = "$stamp" ]; then return 0; fi
    rm -f "$machine/stamp"
    say "fetching Debian's $suite (once)"
    # shellcheck disable=SC2086 # lists
    fetch system $suite amd64 $packages && fetch kernel $suite amd64 linux-image-amd64
    say "unpacking it, and making the disk"
    kernel kernel "$machine/kernel"
    system system "$machine/system"
    accounts "$machine/system"
    # shellcheck disable=SC2086 # a list
    starter "$machine/starter" "$machine/system" "$machine/kernel" tests/machine/nfs/node ttyS0 $modules
    archive "$machine/starter" "$machine/starter.cpio"
    cp "$machine"/kernel/boot/vmlinuz-* "$machine/vmlinuz"
    size=$(du -sm "$machine/system" | cut -f 1)
    rm -f "$machine/disk.ext4"
    quietly mke2fs -q -t ext4 -O ^has_journal -E root_owner=0:0 -d "$machine/system" "$machine/disk.ext4" \
        "$((size * 5 / 4 + 512))M"
    rm -rf "$machine"/{system,kernel,starter,system.debs,kernel.debs}
    echo "$stamp" >"$machine/stamp"
}

# What both machines see as /stage.
stage=$machine/stage
build() {
    local built tests
    built=$(cargo test --no-run --profile $profile --test whole_programs 2>&1) || { echo "$built"; return 1; }
    tests=$(sed -n 's/.*Executable.*whole_programs.*(\(.*\))$/\1/p' <<<"$built")
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
made
build
# A process group of its own, which can be ended as a whole.
set -m
node 2 >"$machine/node2.txt" 2>&1 &
second=$!
set +m
trap 'kill -- -$second 2>/dev/null || true' EXIT
node 1 -drive "if=none,id=work,file=$machine/work.ext4,format=raw" -device virtio-blk-pci,drive=work |
    tee "$machine/node1.txt"
wait $second || true
trap - EXIT
code=$(sed -n 's/^machine: ended with //p' "$machine/node1.txt" | tail -n 1)
rm -rf "$machine/runs"
debugfs -R "rdump /tests/runs $machine" "$machine/work.ext4" >/dev/null 2>&1 || true
rm -f "$machine/work.ext4"
[ -n "$code" ] || say "the first machine did not come to its end"
exit "${code:-1}"
