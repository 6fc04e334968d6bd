"""Rank 1 waits for a message that no rank sends."""

from mpi4py import MPI


class Solver:
    def step(self, comm):
        return self.exchange(comm)  # step

    def exchange(self, comm):
        if comm.rank == 1:
            comm.recv(source=0, tag=77)  # recv


def main():
    comm = MPI.COMM_WORLD
    [Solver().step(comm) for _ in range(1)]  # main
    comm.barrier()


main()  # module
