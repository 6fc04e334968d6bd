#!/bin/bash
# Makes the pictures of docs/fingerprint.md from runs on this machine:
#
#   cargo build --release --workspace && docs/gallery/make.sh
#
# Wants an MPI library with mpicc and mpirun on the PATH, and chromium for the picture of the page.
set -euo pipefail
cd "$(dirname "$0")"
target=$(cd "${CARGO_TARGET_DIR:-../../target}" && pwd)
PATH=$target/release:$PATH
. ../../LD_PRELOAD-examples/settings
work=$(mktemp -d /tmp/gallery.XXXX)
trap 'rm -rf "$work"' EXIT

mpicc -O1 -o "$work/program" program.c
(
    cd "$work"
    # Without `mpitrace run`, so that the launcher's line is as short as it was typed.
    export MPITRACE_EVENTS=messages-sent,bytes-sent
    MPITRACE_OUTPUT=a.mpitrace LD_PRELOAD=$target/release/libmpitrace.so mpirun -np 2 ./program
    mpitrace report a.mpitrace --method robust -o pictures --operation 0 --plot counter-messages-sent
    mpitrace report a.mpitrace --method robust -o fingerprint.html
    mpitrace report a.mpitrace --method robust --operation 0 >terminal.txt
)
cp "$work/pictures/0-MPI_Allreduce-1000B-counter-messages-sent.png" counter.png
cp "$work/terminal.txt" terminal.txt
if command -v chromium >/dev/null; then
    # The browser writes its picture into the working directory.
    (cd "$work" && chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,2300 \
        --virtual-time-budget=3000 --screenshot=page.png "file://$work/fingerprint.html") >"$work/log" 2>&1
    cp "$work/page.png" page.png
fi
