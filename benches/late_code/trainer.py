"""A trainer with data parallelism: each step computes a gradient, and sums it over the ranks with MPI_Allreduce.

`trainer.py FAULT`: rank 1 `sleep`s for its batch, `collect`s garbage beside many objects, has more `data` than the
others, or `none`. The line that is at fault has "late" behind it.
"""

import array
import gc
import sys
import time

from mpi4py import MPI

STEPS = 150


def read_batch(fault, rank):
    if fault == "sleep" and rank == 1:
        time.sleep(0.010)  # late
    return [float(k) for k in range(6000)]


def tidy(fault, rank, kept):
    if fault == "collect" and rank == 1:
        kept[:] = [[k] for k in range(40000)]  # late
        gc.collect()  # late


def gradient(batch, times):
    total = 0.0
    for _ in range(times):
        for value in batch:
            total += value * 0.5  # late
    return total


def main():
    world = MPI.COMM_WORLD
    fault = sys.argv[1]
    ours, summed, kept = array.array("d", [0.0] * 1000), array.array("d", [0.0] * 1000), []
    for step in range(STEPS):
        batch = read_batch(fault, world.rank)
        ours[0] = gradient(batch, 40 if fault == "data" and world.rank == 1 else 15)
        tidy(fault, world.rank, kept)
        world.Allreduce(ours, summed)
        if step % 20 == 0:
            world.bcast({"step": step}, root=0)


main()
