#!/bin/bash
# A Python program with mpi4py. PYTHON names the interpreter; else the first one here that has mpi4py.
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
target=$(realpath "${CARGO_TARGET_DIR:-target}")
mpitrace=$target/release/mpitrace
for python in ${PYTHON-} python3 "$PWD"/target/mpi/{debian,mpich5,ompi5}/bin/python none; do
    if [ "$python" = none ]; then skip "no Python with mpi4py (PYTHON names another interpreter)"; fi
    if "$python" -c 'import mpi4py.MPI' >/dev/null 2>&1; then break; fi
done
# The launcher of the same MPI library as that of mpi4py.
mpirun=$(dirname "$(command -v "$python")")/mpirun
[ -x "$mpirun" ] || mpirun=mpirun
cd "$(mktemp -d)"

cat >program.py <<'END'
from array import array
from mpi4py import MPI

world = MPI.COMM_WORLD
total = array("d", [0])
for step in range(500):
    world.Allreduce(array("d", [step]), total, op=MPI.SUM)
    everything = world.allgather(step)  # a Python object: mpi4py makes several calls of it
END
"$mpitrace" run -o python.mpitrace -- "$mpirun" -np 2 "$python" program.py

"$mpitrace" summary python.mpitrace --by operation
rm -r "$PWD"
