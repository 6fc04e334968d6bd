#!/bin/sh
# Removes what packaging/install.sh has installed: `make uninstall`, with PREFIX itself if that is empty then. Files
# that it did not write stay, folders with such files, and /usr and /usr/local with the folders there that are not
# mpitrace's alone.
#
#   PREFIX    as it was installed (/usr/local)
#   DESTDIR   a folder before that
set -eu
root=${DESTDIR:-}${PREFIX:-/usr/local}
list=$root/share/mpitrace/installed.txt

if [ ! -e "$list" ]; then
    echo "uninstall: $list does not exist: there is no mpitrace in $root; set PREFIX to where it was installed" >&2
    exit 2
fi
# Read before it is removed itself.
files=$(cat "$list")
echo "$files" | while read -r file; do
    # No path leads out of the root.
    case /$file/ in */../*) continue ;; esac
    rm -f "$root/$file"
    folder=$(dirname "$file")
    while [ "$folder" != . ]; do
        case $root:$folder in /usr:*mpitrace* | /usr/local:*mpitrace*) ;; /usr:* | /usr/local:*) break ;; esac
        rmdir "$root/$folder" 2>/dev/null || break
        folder=$(dirname "$folder")
    done
done
case $root in /usr | /usr/local) ;; *) rmdir "$root" 2>/dev/null || true ;; esac
echo "removed mpitrace from $root"
