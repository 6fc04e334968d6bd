#!/bin/bash
# A Slurm batch job of two steps by srun. Without a Slurm here, but as root on a machine that has its packages, the script
# runs itself on a virtual cluster of two nodes (tests/cluster/cluster.sh).
#
#   MPICC=mpicc INTERFACE=pmix LD_PRELOAD-examples/slurm.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
target=$(realpath "${CARGO_TARGET_DIR:-target}")
if ! sinfo >/dev/null 2>&1; then
    if [ "$(id -u)" != 0 ] || ! command -v slurmctld slurmd munged unshare >/dev/null; then skip "no Slurm"; fi
    unshare --mount true 2>/dev/null || skip "no Slurm, and no mount namespaces may be made here for a virtual cluster"
    work=$(mktemp -d "$target/slurm-example.XXXX")
    chmod 755 "$work" # munged runs as a user of its own
    code=0
    NODES=2 KEEP="$PWD $target" CARGO_TARGET_DIR=$target tests/cluster/cluster.sh "$work/cluster" "$PWD/${0#"$PWD"/}" || code=$?
    rm -rf "$work"
    exit $code
fi
source=$PWD/LD_PRELOAD-examples/repetitions.c
work=$(mktemp -d "$target/slurm-example.XXXX") # a folder that all nodes share
cd "$work"
interface=${INTERFACE:-pmix}
"${MPICC:-mpicc}" -O2 -o program "$source"

# The variables are for the ranks: LD_PRELOAD is not exported in the batch script itself.
cat >job <<END
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --output=job.txt
export MPITRACE_OUTPUT=batch-%j-%s.mpitrace
srun --mpi=$interface --export=ALL,LD_PRELOAD=$target/release/libmpitrace.so ./program
$target/release/mpitrace run -o by-run.mpitrace -- srun --mpi=$interface ./program
END
sbatch --wait --quiet job || { cat job.txt; exit 1; }
cat job.txt
for trace in batch-*.mpitrace by-run.mpitrace; do "$target/release/mpitrace" categorize "$trace"; done
"$target/release/mpitrace" clock by-run.mpitrace
cd /
rm -r "$work"
