#!/bin/sh
# Records the run times of MPI operations for `WINDOWS=FOLDER cargo bench --bench warmups`:
# benches/series/record_windows.sh FOLDER MPITRACE [REPETITIONS]
#
# record_windows.c runs on two ranks of each library that is installed (mpicc.openmpi, mpicc.mpich): `quiet`, begun when
# two thirds of the processors have been idle for a second, or after WAIT (60) seconds without; and `busy`, beside as
# many busy loops as there are processors. LOADS (quiet busy) says which. A file an operation in FOLDER, as
# openmpi-quiet-MPI_Bcast-8.txt: of each repetition the run time of the slowest rank, ns. FOLDER/record.log: the idle
# share of the second before each run, and what the tracer says of its interruptions.
set -eu
folder=$1 mpitrace=$2 repetitions=${3:-30000}
here=$(dirname "$0")
scratch=$(mktemp -d)
loops=
end_loops() {
    [ -z "$loops" ] || kill $loops 2>/dev/null || true
    loops=
}
trap 'end_loops; rm -rf "$scratch"' EXIT
mkdir -p "$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# The idle share of all processors during one second, %.
idle() {
    before=$(head -n 1 /proc/stat)
    sleep 1
    printf '%s\n%s\n' "$before" "$(head -n 1 /proc/stat)" | awk '
        { all = 0; for (i = 2; i <= 9; i++) all += $i }
        NR == 1 { first = all; idle = $5 }
        NR == 2 { printf "%d\n", 100 * ($5 - idle) / (all - first) }'
}

run() {
    library=$1 load=$2 trace=$scratch/$1-$2.mpitrace
    launcher=mpirun.$library
    command -v "$launcher" >/dev/null || launcher=mpiexec.$library
    mpicc."$library" -O2 -o "$scratch/program" "$here/record_windows.c"
    share=$(idle)
    if [ "$load" = quiet ]; then
        end=$(($(date +%s) + ${WAIT:-60}))
        while [ "$share" -lt 67 ] && [ "$(date +%s)" -lt "$end" ]; do share=$(idle); done
    else
        for _ in $(seq "$(nproc)"); do
            sh -c 'while :; do :; done' &
            loops="$loops $!"
        done
    fi
    "$mpitrace" run -o "$trace" -- "$launcher" -np 2 "$scratch/program" "$repetitions" \
        >"$scratch/output" 2>&1 || { cat "$scratch/output" >&2; exit 1; }
    end_loops
    rm -rf "$scratch/csv"
    "$mpitrace" export "$trace" --format csv -o "$scratch/csv/" 2>/dev/null
    "$mpitrace" info "$trace" >"$scratch/info"
    # Operations of so many repetitions; where algorithms are known, theirs is a last column.
    grep -E "^ +[0-9]+ +MPI_.* $repetitions( |\$)" "$scratch/info" | awk '{ print $1, $2, $4 }' |
        while read -r operation function bytes; do
            awk -F , '$3 == "runtime" && !($1 in most && most[$1] >= $4) { most[$1] = $4; if ($1 > last) last = $1 + 0 }
                END { for (i = 0; i <= last; i++) if (i in most) printf "%.1f\n", most[i] }' \
                "$scratch/csv/operation-$operation.csv" >"$folder/$library-$load-$function-$bytes.txt"
        done
    {
        echo "$library $load: $(date -u +%FT%TZ), idle before $share %, load average $(cut -d ' ' -f 1 /proc/loadavg)"
        grep -E '^(library|interrupted|ranks|records)' "$scratch/info"
        grep -E 'no processor for|ranks, ' "$scratch/output" || true
    } >>"$folder/record.log"
}

for load in ${LOADS:-quiet busy}; do
    for library in openmpi mpich; do
        if command -v "mpicc.$library" >/dev/null; then run "$library" "$load"; fi
    done
done
