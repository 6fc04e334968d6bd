#!/bin/bash
# tests/hosts/two.sh COMMAND...: runs the command, Open MPI 4's launcher with two ranks, on a host `first` beside which
# there is a host `second`, so that each has a rank. A host is a network namespace of its own with its own name and
# /dev/shm; a virtual cable joins them, over which Open MPI goes by TCP. All of it goes with the command. Needs root, or
# the rights of root in a container.
set -euo pipefail

if [ "${1-}" = --first ]; then
    shift
    hostname first
    ip link set lo up
    mount -t tmpfs tmpfs /dev/shm
    unshare --net --uts --mount "$0" --second &
    second=$!
    trap 'kill "$second" 2>/dev/null' EXIT
    # The namespaces are there as soon as the host has its name.
    for _ in $(seq 100); do
        [ "$(nsenter --target "$second" --uts hostname)" = second ] && break
        sleep 0.05
    done
    ip link add cable type veth peer name cable netns "$second"
    ip address add 10.77.0.1/24 dev cable
    ip link set cable up
    nsenter --target "$second" --net ip address add 10.77.0.2/24 dev cable
    nsenter --target "$second" --net ip link set cable up
    nsenter --target "$second" --net ip link set lo up
    printf '127.0.0.1 localhost\n10.77.0.1 first\n10.77.0.2 second\n' >"$HOSTS_FOLDER/hosts"
    for host in $$ "$second"; do
        nsenter --target "$host" --mount mount --bind "$HOSTS_FOLDER/hosts" /etc/hosts
    done
    # Called as `agent second COMMAND WITH ARGUMENTS`, as ssh is.
    cat >"$HOSTS_FOLDER/agent" <<END
#!/bin/bash
[ "\$1" = second ] || { echo "agent: no host \$1" >&2; exit 1; }
shift
exec nsenter --target $second --net --uts --mount sh -c "cd '$PWD' && \$*"
END
    chmod +x "$HOSTS_FOLDER/agent"
    printf 'first slots=1\nsecond slots=1\n' >"$HOSTS_FOLDER/hostfile"
    export OMPI_MCA_plm_rsh_agent=$HOSTS_FOLDER/agent OMPI_MCA_orte_default_hostfile=$HOSTS_FOLDER/hostfile
    export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=cable OMPI_MCA_oob_tcp_if_include=cable
    # Each host would bind its rank to its first processor, which is the same one.
    export OMPI_MCA_hwloc_base_binding_policy=none
    "$@"
    exit
fi
if [ "${1-}" = --second ]; then
    mount -t tmpfs tmpfs /dev/shm
    hostname second
    exec sleep 600
fi

HOSTS_FOLDER=$(mktemp -d)
export HOSTS_FOLDER
trap 'rm -rf "$HOSTS_FOLDER"' EXIT
unshare --net --uts --mount "$0" --first "$@"
