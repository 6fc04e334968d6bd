#!/bin/bash
# tests/machine/nfs/image.sh: makes the disk of the machines of run.sh, target/nfs/disk.ext4, with its kernel and the files
# that start it. Kept until one of the files changes that it is made of.
set -euo pipefail
cd "$(dirname "$0")/../../.."
machine=${CARGO_TARGET_DIR:-target}/nfs
mkdir -p "$machine"
machine=$(cd "$machine" && pwd)
. tests/machine/packages.sh
. tests/machine/kernel.sh
say() { echo "nfs: $*"; }

suite=bookworm
packages="$tested_packages iproute2 busybox-static openssh-client openssh-server nfs-common nfs-kernel-server quota"
modules='virtio_pci virtio_blk virtio_net ext4 crc32c_generic quota_v2 sunrpc nfsd nfsv4'

# The right to log in on the other machine, and what daemons expect.
accounts() {
    local folder=$1 library key home=root keys
    keys=$folder/$home/.ssh
    echo 'sshd:x:101:65534::/run/sshd:/usr/sbin/nologin' >>"$folder/etc/passwd"
    echo '_rpc:x:102:65534::/run/rpcbind:/usr/sbin/nologin' >>"$folder/etc/passwd"
    echo 'statd:x:103:65534::/var/lib/nfs:/usr/sbin/nologin' >>"$folder/etc/passwd"
    echo 'tester:x:1000:1000::/home/tester:/bin/bash' >>"$folder/etc/passwd"
    echo 'tester:x:1000:' >>"$folder/etc/group"
    printf '127.0.0.1 localhost\n10.0.0.1 node1\n10.0.0.2 node2\n' >"$folder/etc/hosts"
    mkdir -p "$keys" "$folder"/{home,export,etc/ssh,var/lib/nfs/rpc_pipefs}
    ln -sfn /proc/self/mounts "$folder/etc/mtab"
    library=$folder/usr/lib/x86_64-linux-gnu
    for key in "$keys/id_ed25519" "$folder/etc/ssh/host"; do
        rm -f "$key"
        # By the system's own loader: this one may lack ssh.
        quietly "$library/ld-linux-x86-64.so.2" --library-path "$library" \
            "$folder/usr/bin/ssh-keygen" -q -t ed25519 -N '' -C tests -f "$key" || return 1
    done
    cp "$keys/id_ed25519.pub" "$keys/authorized_keys"
    printf 'StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n' >"$keys/config"
    chmod 700 "$keys"
    chmod 600 "$keys"/*
}

stamp=$(cat tests/machine/packages.sh tests/machine/kernel.sh tests/machine/nfs/{image.sh,node} | sha256sum)
if [ "$(cat "$machine/stamp" 2>/dev/null)" = "$stamp" ]; then exit 0; fi
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
