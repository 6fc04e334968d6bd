"""Work for a pool of ranks: rank 0 gives it out and polls for results."""
from mpi4py import MPI
from mpi4py.futures import MPICommExecutor


def work(number):
    return sum(k * k for k in range(1000 + number % 7))


with MPICommExecutor(MPI.COMM_WORLD, root=0) as pool:
    if pool is not None:
        print("sum", sum(pool.map(work, range(200), chunksize=4)))
MPI.COMM_WORLD.barrier()
print("largest", MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank, op=MPI.MAX))
