"""Three calls within a region, one of them in a nested one, which an exception leaves."""

import importlib.util
import sys

from mpi4py import MPI

# The package itself has to be built; this module stands alone.
spec = importlib.util.spec_from_file_location("_region", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


@module.region("reduce")
def reduce(value):
    return MPI.COMM_WORLD.allreduce(value)


for step in range(3):
    with module.region("step"):
        assert reduce(step) == step * MPI.COMM_WORLD.size
try:
    with module.region("fails"):
        raise ValueError
except ValueError:
    # One rank prints, so that lines of two do not mix.
    left = MPI.COMM_WORLD.reduce(1)
    if MPI.COMM_WORLD.rank == 0:
        print("left by", left)
