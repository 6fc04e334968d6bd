#!/bin/bash
# tests/cluster/close_to_open.sh bindfs|sshfs FOLDER MOUNTPOINT: the folder through a file system that keeps what it has seen for 5 s,
# as NFS does: sizes and times, names and names that were not there. What is opened anew is read anew.
set -euo pipefail
cached=attr_timeout=5,entry_timeout=5,negative_timeout=5,auto_cache
case $1 in
    bindfs) exec bindfs -o "$cached" "$2" "$3" ;;
    sshfs)
        # sshfs asks its server by words of ssh; the server is a process of this node.
        server=$(mktemp /tmp/server.XXXXXX)
        printf '#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n' >"$server"
        chmod +x "$server"
        # What the mount hides stays visible to the server under another name.
        hidden=$(mktemp -d /tmp/hidden.XXXXXX)
        mount --bind "$2" "$hidden"
        exec sshfs -o "$cached,ssh_command=$server" "server:$hidden" "$3"
        ;;
esac
