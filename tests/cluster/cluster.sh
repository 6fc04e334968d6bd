#!/bin/bash
# tests/cluster/cluster.sh FOLDER COMMAND...: a virtual cluster on this machine for as long as the command runs.
#
# Makes $NODES (3) nodes n1, n2, ... beside a host `head`, each with its own network (10.77.0.x on a bridge), name, processes,
# /dev/shm, /tmp, /run and boot id. Slurm runs on all of them; the command runs on `head`. `at NODE COMMAND...` runs a command on a
# node, as ssh does. What is not below /tmp is one folder for all nodes; of /tmp they share FOLDER and the folders in $KEEP.
# On the nodes $SHARED, a folder, is seen through the file system that `$MOUNT FOLDER MOUNTPOINT $MOUNT_LIMIT` mounts, if it is given.
# $PLUGSTACK is the plugstack.conf of Slurm, if it is given.
# $TASK_PROLOG is a script that Slurm runs before each task, if it is given.
# $ACCOUNTING, if it is set: Slurm keeps an account of jobs, in a database of its own on `head`, as `sacct` needs it.
# $EPILOGUE is a script that Slurm runs on each node of a job after its end, if it is given.
# The exit code is the command's. Everything goes with it: it lives in namespaces of its own, as do all addresses.
#
# Needs root, and of Debian slurm-wlm and munge; for $ACCOUNTING slurmdbd, mariadb-server-core and mariadb-client-core.
set -euo pipefail
self=$(realpath "$0")
nodes=${NODES:-3}

# own_folders NAME: what a host has for itself.
own_folders() {
    local folder
    mount -t tmpfs tmpfs /mnt
    for folder in "$base" ${KEEP-}; do
        case $folder in
            /tmp/*) mkdir -p "/mnt/${folder#/tmp/}" && mount --rbind "$folder" "/mnt/${folder#/tmp/}" ;;
        esac
    done
    chmod 1777 /mnt
    mount --move /mnt /tmp
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    mount -t tmpfs -o mode=755 tmpfs /run
    mount --bind "$base/hosts" /etc/hosts
    mount --bind "$base/etc" /etc/slurm
    hostname "$1"
    ip link set lo up
    # The tracer takes ranks with one boot id for ranks of one host.
    cat /proc/sys/kernel/random/uuid >/run/boot_id
    mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
    install -d -o munge /run/munge
    setpriv --reuid munge --regid munge --clear-groups munged -F --key-file "$base/munge.key" \
        --log-file /run/munge/log --pid-file /run/munge/pid --seed-file /run/munge/seed 2>/dev/null &
    until [ -S /run/munge/munge.socket.2 ]; do sleep 0.02; done
}

# run_node INDEX: the first process of a node, which also takes in what others leave behind.
run_node() {
    own_folders "n$1"
    if [ -n "${MOUNT-}" ]; then $MOUNT "$SHARED" "$SHARED" ${MOUNT_LIMIT-}; fi
    until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done # head puts the cable in
    ip address add "10.77.0.$1/24" dev eth0
    ip link set eth0 up
    slurmd -D -N "n$1" -L "$base/log/n$1" 2>/dev/null &
    wait
}

# run_accounting: the database and its daemon, until the cluster is known there.
run_accounting() {
    local socket=/run/mysqld/mysqld.sock
    mkdir -p /run/mysqld /run/database
    mariadb-install-db --no-defaults --user=root --datadir=/run/database --auth-root-authentication-method=normal \
        --skip-test-db >"$base/log/database" 2>&1
    mariadbd --no-defaults --user=root --datadir=/run/database --socket=$socket --skip-networking \
        >>"$base/log/database" 2>&1 &
    until [ -S $socket ]; do sleep 0.1; done
    slurmdbd -D >>"$base/log/database" 2>&1 &
    until sacctmgr -i add cluster virtual >>"$base/log/database" 2>&1; do sleep 0.2; done
}

# run_head COMMAND...: the first process of the cluster.
run_head() {
    local index first code=0
    ip link add br0 type bridge
    ip address add 10.77.0.254/24 dev br0
    ip link set br0 up
    for index in $(seq "$nodes"); do
        unshare --net --uts --ipc --mount --pid --fork --mount-proc "$self" --node "$base" "$index" </dev/null &
        until first=$(pgrep -P $!) && [ -n "$first" ] && [ "$(nsenter -t "$first" -u hostname)" = "n$index" ]; do
            sleep 0.02
        done
        echo "$first" >"$base/first/n$index"
        ip link add "to$index" type veth peer name eth0 netns "$first"
        ip link set "to$index" master br0 up
    done
    own_folders head
    if [ -n "${ACCOUNTING-}" ]; then run_accounting; fi
    slurmctld -D -L "$base/log/head" 2>/dev/null &
    until [ "$(sinfo -h -o %D -t idle 2>/dev/null)" = "$nodes" ]; do sleep 0.1; done
    PATH=$base/bin:$PATH "$@" || code=$?
    exit $code
}

configure() {
    rm -rf "$base"/{etc,log,first,bin}
    mkdir -p "$base"/{etc,log,first,bin}
    {
        echo 127.0.0.1 localhost
        echo 10.77.0.254 head
        for index in $(seq "$nodes"); do echo "10.77.0.$index n$index"; done
    } >"$base/hosts"
    head -c 1024 /dev/urandom >"$base/munge.key"
    chown munge "$base/munge.key"
    chmod 0600 "$base/munge.key"
    cat >"$base/etc/slurm.conf" <<CONF
ClusterName=virtual
SlurmctldHost=head(10.77.0.254)
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
StateSaveLocation=/run/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
KillWait=3
${EPILOGUE:+Epilog=$EPILOGUE}
${TASK_PROLOG:+TaskProlog=$TASK_PROLOG}
${ACCOUNTING:+AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=head}
NodeName=n[1-$nodes] NodeAddr=10.77.0.[1-$nodes] CPUs=16
PartitionName=all Nodes=ALL Default=YES OverSubscribe=YES
CONF
    if [ -n "${ACCOUNTING-}" ]; then
        cat >"$base/etc/slurmdbd.conf" <<CONF
AuthType=auth/munge
DbdHost=head
SlurmUser=root
StorageType=accounting_storage/mysql
StorageUser=root
PidFile=/run/slurmdbd.pid
LogFile=$base/log/slurmdbd
CONF
        chmod 0600 "$base/etc/slurmdbd.conf"
    fi
    if [ -n "${PLUGSTACK-}" ]; then echo "$PLUGSTACK" >"$base/etc/plugstack.conf"; fi
    cat >"$base/bin/at" <<'AT'
#!/bin/bash
# at [OPTIONS OF SSH] NODE COMMAND...
while [[ $1 = -* ]]; do shift; done
first=$(cat "$(dirname "$0")/../first/$1")
shift
exec nsenter -t "$first" -a env -i HOME="$HOME" PATH="$PATH" USER=root sh -c "cd '$PWD' && $*"
AT
    chmod +x "$base/bin/at"
}

case ${1-} in
    --node) base=$2 && run_node "$3" ;;
    --head) base=$2 && shift 2 && run_head "$@" ;;
    *)
        mkdir -p "$1"
        base=$(realpath "$1")
        shift
        configure
        # unshare lets SIGTERM pass by; its death is that of all processes of the cluster.
        unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc "$self" --head "$base" "$@" <&0 &
        trap 'kill -KILL $! 2>/dev/null || :' TERM INT HUP EXIT
        wait $!
        ;;
esac
