#!/bin/bash
# Checks the links of README.md, CONTRIBUTING.md and docs/, and runs the commands that are marked for it: the fenced
# block after a line `<!-- run -->`.
#
#   tests/documentation.sh first          with what the tests were built with, in target/checked; blocks for the
#                                         repository, which build and measure, are left out
#   tests/documentation.sh all            (or nothing) each of them, with target/release
#   tests/documentation.sh links          only the links
#   tests/documentation.sh first PAGE...  all links, and the commands of these pages
#
# Each page is one session: its blocks run in order, each under `bash -e`, in a fresh folder that holds `program`, a
# small MPI program, and the repository's LD_PRELOAD-examples, include and tests, with mpitrace on the PATH. A block
# after `<!-- run in the repository -->` runs in the repository. The commands of the tables behind
# `<!-- run the commands of the tables -->` run in that folder too (tables.py).
#
# Links: each relative link leads to a file, and its part after # to a heading there; each page of docs/ is in
# docs/SUMMARY.md; each key of a citation is in docs/developers/references.md; each symbolic link of the repository
# leads to a file. Where mdbook is on the path, the site is built.
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
tier=${1:-all}
[ $# = 0 ] || shift
session=$(mktemp -d)
trap 'rm -rf "$session"' EXIT

# The anchors of a page, as GitHub and mdBook make them of headings.
anchors() {
    sed -n '/^ *```/,/^ *```/d; s/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^[:alnum:] _-]//g; s/ /-/g'
}

# links PAGE: says which of its links lead nowhere; 1 if there is one.
links() {
    local page=$1 link file anchor failed=0
    while read -r link; do
        case $link in http*: | http*:* | mailto:*) continue ;; esac
        file=${link%%#*} anchor=
        case $link in *#*) anchor=${link#*#} ;; esac
        if [ -z "$file" ]; then file=$page; else file=$(dirname "$page")/$file; fi
        if [ ! -e "$file" ]; then
            echo "$page: the link $link leads to no file"
            failed=1
        elif [ -n "$anchor" ] && ! anchors "$file" | grep -qxF -e "$anchor"; then
            echo "$page: the link $link leads to no heading"
            failed=1
        fi
    done < <(sed '/^ *```/,/^ *```/d; s/`[^`]*`//g' "$page" | grep -oP '\]\(\K[^) ]+' || true)
    return $failed
}

pages() { find README.md CONTRIBUTING.md docs -name '*.md' | LC_ALL=C sort; }

failed=0
while read -r link; do
    if [ ! -e "$link" ]; then
        echo "$link: this symbolic link leads to no file"
        failed=1
    fi
done < <(git ls-files -s 2>/dev/null | sed -n 's/^120000 [^\t]*\t//p')
while read -r page; do
    links "$page" || failed=1
    case $page in
        docs/SUMMARY.md) ;;
        docs/*)
            if ! grep -qF "(${page#docs/})" docs/SUMMARY.md; then
                echo "$page is not in docs/SUMMARY.md"
                failed=1
            fi
            ;;
    esac
done < <(pages)
while read -r key; do
    if ! grep -qF "* [$key] " docs/developers/references.md; then
        echo "[$key] is not in docs/developers/references.md"
        failed=1
    fi
done < <(grep -rhoP --include='*.rs' --include='*.h' --include='*.md' '\[\K[A-Z][A-Za-z]+(19|20)\d\d(?=[],])' \
    README.md docs src interpose tools include tests/headers tests/whole_programs | sort -u)
if [ $failed = 1 ]; then exit 1; fi
echo "links: $(pages | wc -l) pages"
if command -v mdbook >/dev/null; then mdbook build -d "$session/site" docs; else echo "no mdbook: site not built"; fi
if [ "$tier" = links ]; then exit; fi

if [ "$tier" = first ]; then profile=checked; else profile=release; fi
PATH=$target/$profile:$PATH
. LD_PRELOAD-examples/settings
export PATH

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
if [ $# = 0 ]; then mapfile -t chosen < <(pages); else chosen=("$@"); fi
for page in "${chosen[@]}"; do
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
                if [ ! -e "$folder/program" ]; then
                    mpicc -O1 -o "$folder/program" LD_PRELOAD-examples/repetitions.c
                    ln -s "$repository/LD_PRELOAD-examples" "$repository/include" "$repository/tests" "$folder"
                fi
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
    if grep -qx '<!-- run the commands of the tables -->' "$page"; then
        echo "-- $page: its tables"
        tests/tables.py "$tier" "$page" "$folder" || exit 1
    fi
done
echo "$count blocks"
