#!/bin/bash
# tests/cluster/many_jobs.sh [JOBS]: a folder of real small traces (1000), and whether `mpitrace jobs` answers what is asked of it.
#
# Two job arrays on 12 virtual nodes, one with Open MPI 4 and one with MPICH 5; each runs one task at a time: a step of one
# rank on each of four random nodes, in one of three programs (tests/programs/many_jobs.c). Of 1000 jobs some 40 are killed by
# a signal to a rank, 20 hang until a time limit, and in 20 one rank computes three times as much. Node n5 gets less
# processor time. From the middle on `stencil` computes 40 % more. Killed and hung jobs are recovered by a later step on the
# same nodes, on which the other array may have left something too.
# `many_jobs.py` compares the answers with what was done.
#
# Needs root and what cluster.sh needs. FOLDER (target/tests/many_jobs) takes the traces; PROFILE (checked) names the build.
set -euo pipefail
self=$(realpath "$0")
here=$(dirname "$self")
root=$(dirname "$(dirname "$here")")
slow=n5 nodes=12

# A task of an array, on the first node of its allocation, which is all nodes.
task() {
    local library=$1 jobs=$2 index=$SLURM_ARRAY_TASK_ID kind units=20 fate='' interface=pmi2 chosen trace code=0
    # Each job is the same in each run. The first number of a seed is close to that of the next seed.
    RANDOM=$((index * 2 + (${#library} % 2)))
    local draw=$RANDOM kinds=(stencil transpose farm)
    draw=$((RANDOM % 100))
    kind=${kinds[RANDOM % 3]}
    if [ $draw -lt 4 ]; then fate=killed; elif [ $draw -lt 6 ]; then fate=hung; elif [ $draw -lt 8 ]; then fate=lost; fi
    if [ "$kind" = stencil ] && [ "$index" -ge $((jobs / 4)) ]; then units=28; fi
    if [ "$library" = ompi4 ]; then interface=pmix; fi
    chosen=$(for node in $(seq "$nodes"); do echo "$RANDOM $node"; done | sort -n | head -n 4 | cut -d' ' -f2 | sort -n |
        sed 's/^/n/' | paste -sd,)
    trace=$FOLDER/traces/$kind-$SLURM_ARRAY_JOB_ID-$index.mpitrace
    local where=(-w "$chosen" -N4 -n4 --ntasks-per-node=1)
    export MPITRACE_OUTPUT=$trace MPITRACE_SEGMENT_DIR=/dev/shm MPITRACE_VERBOSE=0
    # shellcheck disable=SC2086 # no fate is no word
    timeout -k 2 "$([ "$fate" = hung ] && echo 4 || echo 30)" \
        srun -K1 --mpi=$interface --export="ALL,LD_PRELOAD=$TRACER" "${where[@]}" \
        "$FOLDER/$library/$kind" "$kind" 20 $units $fate >>"$FOLDER/$library.out" 2>&1 || code=$?
    if [ $code != 0 ]; then srun "${where[@]}" "$COMPANION" recover --job "$SLURM_JOB_ID" -o "$trace" >>"$FOLDER/$library.out" 2>&1 || true; fi
    echo "$(basename "$trace") $library $kind $chosen ${fate:--} $code" >>"$FOLDER/$library.truth"
}

case ${1-} in
    --task) task "$2" "$3" ;;
    --head)
        # The first process of the node, and so all that it starts: less than others get where processors are short (each
        # step is a session, and sessions share them equally), and a quota where they are not.
        group=/sys/fs/cgroup/cpu/mpitrace-many-jobs
        mkdir -p $group
        echo "${SHARES:-900}" >$group/cpu.shares
        echo 10000 >$group/cpu.cfs_period_us
        echo 2500 >$group/cpu.cfs_quota_us
        first=$(cat "$CLUSTER/first/$slow")
        for process in $first $(pgrep -P "$first"); do echo "$process" >$group/cgroup.procs; done
        half=$(($2 / 2))
        for library in ompi4 mpich5; do
            sbatch -Q -N$nodes --ntasks-per-node=1 -o /dev/null --array="0-$((half - 1))%1" "$self" --task $library "$2"
        done
        while [ -n "$(squeue -h)" ]; do sleep 1; done
        ;;
    *)
        jobs=${1:-1000}
        target=$(realpath "${CARGO_TARGET_DIR:-$root/target}")
        export FOLDER=${FOLDER:-$target/tests/many_jobs} CLUSTER TRACER COMPANION
        CLUSTER=$FOLDER/cluster TRACER=$FOLDER/libmpitrace.so COMPANION=$FOLDER/mpitrace
        rm -rf "$FOLDER"
        mkdir -p "$FOLDER"/{traces,ompi4,mpich5,cache}
        cp "$target/${PROFILE:-checked}"/{libmpitrace.so,mpitrace} "$FOLDER"
        for kind in stencil transpose farm; do
            mpicc.openmpi -O2 -o "$FOLDER/ompi4/$kind" "$root/tests/programs/many_jobs.c"
            "$target/mpi/mpich5/bin/mpicc" -O2 -o "$FOLDER/mpich5/$kind" "$root/tests/programs/many_jobs.c"
        done
        NODES=$nodes KEEP="$root $target" "$here/cluster.sh" "$CLUSTER" "$self" --head "$jobs"
        rmdir /sys/fs/cgroup/cpu/mpitrace-many-jobs || true
        echo "$jobs jobs ran in $SECONDS s"
        python3 "$here/many_jobs.py" "$COMPANION" "$FOLDER" $slow
        ;;
esac
