#!/bin/bash
# Runs the commands in README.md and docs/ that are marked for it: the fenced block after a line `<!-- run -->`.
#
#   tests/documentation.sh first   with what the tests were built with, in target/checked; blocks for the repository,
#                                  which build and measure, are left out
#   tests/documentation.sh all     (or nothing) each of them, with target/release
#
# Each page is one session: its blocks run in order, each under `bash -e`, in a fresh folder that holds `program`, a
# small MPI program, with mpitrace on the PATH. A block after `<!-- run in the repository -->` runs in the repository.
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
tier=${1:-all}
if [ "$tier" = first ]; then profile=checked; else profile=release; fi
PATH=$target/$profile:$PATH
. LD_PRELOAD-examples/settings
export PATH

session=$(mktemp -d)
trap 'rm -rf "$session"' EXIT

# The marked blocks of a page, one a file: FOLDER/00-here or FOLDER/01-repository, and so on.
blocks() {
    awk -v folder="$2" '
        /^<!-- run -->$/                   { where = "here"; next }
        /^<!-- run in the repository -->$/ { where = "repository"; next }
        /^```/ && file != ""               { close(file); file = ""; next }
        /^```/ && where != ""              { file = sprintf("%s/%02d-%s", folder, count++, where); where = ""; next }
        file != ""                         { sub(/^\$ /, ""); print > file }
    ' "$1"
}

count=0
for page in README.md CONTRIBUTING.md docs/*.md; do
    [ -e "$page" ] || continue
    blocks_of_page=$session/blocks/$page
    folder=$session/$page
    mkdir -p "$blocks_of_page" "$folder"
    blocks "$page" "$blocks_of_page"
    for block in "$blocks_of_page"/*; do
        [ -e "$block" ] || continue
        case $block in
            *-repository)
                [ "$tier" = all ] || continue
                place=$repository
                ;;
            *)
                place=$folder
                [ -e "$folder/program" ] || mpicc -O1 -o "$folder/program" LD_PRELOAD-examples/repetitions.c
                ;;
        esac
        echo "-- $page:" "$(head -n 1 "$block")"
        if ! (cd "$place" && timeout 900 bash -e "$block") </dev/null >"$session/output" 2>&1; then
            echo "this block of $page failed:"
            cat "$block"
            echo "its output was:"
            cat "$session/output"
            exit 1
        fi
        count=$((count + 1))
    done
done
echo "$count blocks"
