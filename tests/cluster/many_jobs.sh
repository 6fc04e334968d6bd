#!/bin/bash
# tests/cluster/many_jobs.sh [JOBS]: a campaign of real small jobs (200), and whether `mpitrace jobs` answers what is asked of it.
#
# Two job arrays on 12 virtual nodes, one with Open MPI 4 and one with MPICH 5; each runs one task at a time: a step of one
# rank on each of four random nodes, in one of three programs (tests/programs/many_jobs.c). Of 200 jobs 3 are killed by a
# signal to a rank, 3 call MPI_Abort, 3 hang until they are cancelled, one of them twice as long, and in 4 one rank
# computes three times as much. Node n5 computes half as much again. From the middle on `stencil` is another build, which
# computes 40 % more. The epilogue of Slurm recovers what the jobs leave, and dates their end.
# Then one program runs on the same nodes, eight times each while n5 is not slow and while it is, for `mpitrace compare`.
# `many_jobs.py` compares the answers with what was done; exit code 1: one is wrong.
#
# Needs root and what cluster.sh needs. FOLDER (target/tests/many_jobs) takes the traces; PROFILE (checked) names the build.
set -euo pipefail
self=$(realpath "$0")
here=$(dirname "$self")
root=$(dirname "$(dirname "$here")")
slow=n5 nodes=12 hangs=70

# Sets `fate` of a task of an array: of 100 tasks the same ones have it.
fate_of() {
    case $1-$(($2 % 100)) in
        ompi4-20 | mpich5-45 | ompi4-70) fate=killed ;;
        mpich5-15 | ompi4-50 | mpich5-80) fate=aborted ;;
        ompi4-30 | mpich5-60 | mpich5-85) fate=hung ;;
        ompi4-10 | mpich5-35 | ompi4-65 | mpich5-90) fate=lost ;;
        *) fate= ;;
    esac
}

# A task of an array, on the first node of its allocation, which is all nodes.
task() {
    local library=$1 tasks=$2 index=$SLURM_ARRAY_TASK_ID kind build=old fate interface=pmi2 chosen trace code=0 limit=300
    # Each job is the same in each run. The first number of a seed is close to that of the next seed.
    RANDOM=$((index * 2 + (${#library} % 2)))
    local draw=$RANDOM kinds=(stencil transpose farm)
    kind=${kinds[RANDOM % 3]}
    fate_of "$library" "$index"
    if [ "$kind" = stencil ] && [ "$index" -ge $((tasks / 2)) ]; then build=new; fi
    if [ "$library" = ompi4 ]; then interface=pmix; fi
    chosen=$(for node in $(seq "$nodes"); do echo "$RANDOM $node"; done | sort -n | head -n 4 | cut -d' ' -f2 | sort -n |
        sed 's/^/n/' | paste -sd,)
    trace=$FOLDER/traces/job-$SLURM_JOB_ID.mpitrace
    echo "$SLURM_JOB_ID $library $kind $build $chosen ${fate:--} $(date +%s)" >>"$FOLDER/$library.truth"
    export MPITRACE_OUTPUT=$trace MPITRACE_SEGMENT_DIR=/dev/shm MPITRACE_VERBOSE=0 FATE=$fate
    srun -K1 --mpi=$interface --export="ALL,LD_PRELOAD=$TRACER" -w "$chosen" -N4 -n4 --ntasks-per-node=1 \
        "$FOLDER/$library/$build/$kind" "$kind" 20 >>"$FOLDER/$library.out" 2>&1 &
    local step=$!
    if [ "$fate" = hung ]; then
        limit=$hangs
        if [ "$library" = ompi4 ]; then limit=$((2 * hangs)); fi
    fi
    for ((; limit > 0; limit--)); do
        sleep 1
        kill -0 $step 2>/dev/null || break
    done
    # The user has waited for long enough.
    if [ $limit = 0 ]; then
        echo "$SLURM_JOB_ID cancelled $(date +%s)" >>"$FOLDER/$library.codes"
        scancel "${SLURM_ARRAY_JOB_ID}_$index"
    fi
    wait $step || code=$?
    echo "$SLURM_JOB_ID $code $(date +%s)" >>"$FOLDER/$library.codes"
}

case ${1-} in
    --task) task "$2" "$3" ;;
    --epilogue)
        # On each node, as root; most jobs have left nothing.
        compgen -G '/dev/shm/mpitrace-*' >/dev/null || exit 0
        "$FOLDER/mpitrace" recover --job "$SLURM_JOB_ID" --ended -o "$FOLDER/traces/job-$SLURM_JOB_ID.mpitrace" \
            >>"$FOLDER/epilogue.out" 2>&1 || true
        ;;
    --head)
        at $slow touch /run/slow
        half=$(($2 / 2))
        for library in ompi4 mpich5; do
            sbatch -Q -N$nodes --ntasks-per-node=1 -o /dev/null --array="0-$((half - 1))%1" "$self" --task $library $half
        done
        while [ -n "$(squeue -h)" ]; do sleep 1; done
        # The same program on the same nodes, without and with the slow node: in turns, since the machine is not always as
        # busy.
        for run in 1 2 3 4 5 6 7 8; do
            for side in a b; do
                if [ $side = a ]; then at $slow rm /run/slow; else at $slow touch /run/slow; fi
                MPITRACE_OUTPUT=$FOLDER/compared/$side.$run.mpitrace MPITRACE_VERBOSE=0 \
                    srun --mpi=pmi2 --export="ALL,LD_PRELOAD=$TRACER" -w n4,$slow,n6,n7 -N4 -n4 --ntasks-per-node=1 \
                    "$FOLDER/mpich5/old/transpose" transpose 20
            done
        done
        ;;
    *)
        jobs=${1:-200}
        target=$(realpath "${CARGO_TARGET_DIR:-$root/target}")
        export FOLDER=${FOLDER:-$target/tests/many_jobs} TRACER EPILOGUE
        rm -rf "$FOLDER"
        mkdir -p "$FOLDER"/{traces,compared,cache,{ompi4,mpich5}/{old,new}}
        TRACER=$FOLDER/libmpitrace.so EPILOGUE=$FOLDER/epilogue
        cp "$target/${PROFILE:-checked}"/{libmpitrace.so,mpitrace} "$FOLDER"
        # Slurm gives an epilogue no variable of ours.
        printf '#!/bin/bash\nFOLDER=%q exec %q --epilogue\n' "$FOLDER" "$self" >"$EPILOGUE"
        chmod +x "$EPILOGUE"
        for kind in stencil transpose farm; do
            for build in old new; do
                units=20
                if [ $build = new ]; then units=28; fi
                for compiler in ompi4:mpicc.openmpi mpich5:"$target/mpi/mpich5/bin/mpicc"; do
                    "${compiler#*:}" -O2 -DUNITS=$units -Wl,--build-id -o "$FOLDER/${compiler%%:*}/$build/$kind" \
                        "$root/tests/programs/many_jobs.c"
                done
            done
        done
        NODES=$nodes KEEP="$root $target" "$here/cluster.sh" "$FOLDER/cluster" "$self" --head "$jobs"
        echo "$jobs jobs ran in $SECONDS s"
        # That which has DuckDB.
        python=$target/mpi/readers/bin/python
        [ -x "$python" ] || python=python3
        "$python" "$here/many_jobs.py" "$FOLDER/mpitrace" "$FOLDER" $slow
        ;;
esac
