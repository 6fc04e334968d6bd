# A machine's kernel out of Debian's package, and the files that start the machine. To be sourced, after packages.sh.

# installed PACKAGE...: Debian packages of this machine, which are installed if they are missing.
installed() {
    local package missing=() as_root=
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then as_root="sudo -n"; fi
    say "installing ${missing[*]}"
    quietly $as_root apt-get update >&2 &&
        quietly $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >&2
}

# kernel NAME FOLDER: unpacks the kernel that was fetched under that name. Of its dependencies only the image is wanted.
kernel() {
    local image
    rm -rf "$2"
    mkdir -p "$2"
    image=$(ls "$machine/$1.debs"/linux-image-[0-9]*.deb | head -n 1)
    dpkg-deb --fsys-tarfile "$image" | tar -x -C "$2" --no-same-owner
}

# with_needed KERNEL MODULE: the modules that it needs, and it, in the order in which they have to be loaded. One that is
# part of the kernel has no file.
with_needed() {
    local kernel=$1 file needed
    file=$(find "$kernel" -name "$2.ko" -o -name "${2//_/-}.ko" | head -n 1)
    [ -n "$file" ] || return 0
    for needed in $(tr '\0' '\n' <"$file" | sed -n 's/^depends=//p' | tr ',' ' '); do with_needed "$kernel" "$needed"; done
    echo "$file"
}

# starter FOLDER SYSTEM KERNEL PROGRAM CONSOLE MODULE...: the initial file system, whose first process loads the modules,
# mounts the disk and goes on with PROGRAM.
starter() {
    local folder=$1 system=$2 kernel=$3 program=$4 console=$5 module number=10 file
    shift 5
    rm -rf "$folder"
    mkdir -p "$folder/bin" "$folder/modules" "$folder/disk" "$folder/dev" "$system/disk"
    install -m 755 "$program" "$folder/start"
    cp "$system/bin/busybox" "$folder/bin/busybox"
    for module in "$@"; do with_needed "$kernel" "$module"; done | awk '!seen[$0]++' | while read -r file; do
        cp "$file" "$folder/modules/$number-${file##*/}"
        number=$((number + 1))
    done
    cat >"$folder/init" <<END
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
exec </dev/$console >/dev/$console 2>&1
for module in /modules/*; do /bin/busybox insmod "\$module" || echo "machine: \$module is not loaded"; done
while [ ! -b /dev/vda ]; do /bin/busybox sleep 0.1; done
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
