#!/bin/bash
# Ranks in a container, here a chroot as the simplest one. The container needs libmpitrace.so at the path that LD_PRELOAD
# names inside, and one /dev/shm for all ranks of a node. The launcher is outside. Needs root, or user namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
release=$(realpath "${CARGO_TARGET_DIR:-target}/release")
folders=(usr lib lib64 bin etc dev proc sys run var)

if [ "${1-}" != inside ]; then
    unshare=(unshare --mount)
    [ "$(id -u)" = 0 ] || unshare+=(--user --map-root-user)
    "${unshare[@]}" true 2>/dev/null || skip "neither root nor user namespaces"
    work=$(mktemp -d)
    mkdir -p "$work"/{shared,image/{tmp,shared,opt/mpitrace}} "${folders[@]/#/$work/image/}"
    cp "$release/libmpitrace.so" "$work/image/opt/mpitrace"
    mpicc -O2 -o "$work/shared/program" LD_PRELOAD-examples/repetitions.c
    # What is mounted inside is not mounted here.
    "${unshare[@]}" "$0" inside "$work" || exit
    "$release/mpitrace" categorize "$work/shared/container.mpitrace"
    rmdir "${folders[@]/#/$work/image/}" "$work"/image/{tmp,shared} # fails if one of them is not empty
    rm -r "$work"
    exit
fi

cd "$2"
for folder in "${folders[@]}"; do
    if [ -e "/$folder" ]; then mount --rbind "/$folder" "image/$folder"; fi
done
mount --bind shared image/shared
mount --bind /tmp image/tmp # Open MPI and MPICH keep files of the job there
mpirun -np 2 chroot image env LD_PRELOAD=/opt/mpitrace/libmpitrace.so MPITRACE_OUTPUT=/shared/container.mpitrace \
    /shared/program
