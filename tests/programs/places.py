"""Collective calls from several lines, in a class, in a thread, and in code that is made while the program runs."""

import threading
from array import array

from mpi4py import MPI


class Solver:
    def step(self, comm, value):
        comm.Allreduce(MPI.IN_PLACE, value)  # step


def main():
    comm = MPI.COMM_WORLD
    value = array("d", [1.0])
    for _ in range(5):
        comm.Allreduce(MPI.IN_PLACE, value)  # first
        comm.Allreduce(MPI.IN_PLACE, value)  # second
        Solver().step(comm, value)
    # The second at the address of the first.
    for turn in range(40):
        exec(compile("\n" * (turn % 2) + "comm.Barrier()", "made.py", "exec"), {"comm": comm})
    thread = threading.Thread(target=lambda: comm.Bcast(value))  # thread
    thread.start()
    thread.join()


main()
