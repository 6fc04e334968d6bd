"""Collectives of mpi4py on plain buffers.

On MPI 4 and later mpi4py calls the large-count functions (MPI_Allreduce_c).
"""

import os
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
total = 0.0


def doubles(n, value=0.0):
    return array("d", [value] * n)


for i in range(20):
    out = doubles(4)
    world.Allreduce(doubles(4, rank + i), out, op=MPI.SUM)
    total += out[3]
for i in range(10):
    token = array("i", [i if rank == 0 else -1] * 3)
    world.Bcast(token, root=0)
    total += token[2]
for i in range(3):
    world.Barrier()

blocks = array("i", [100 * rank + peer for peer in range(size)])
for i in range(5):
    got = array("i", [-1] * size)
    world.Alltoall(blocks, got)
    total += sum(got)
for i in range(4):
    counts, offsets = [1] * size, list(range(size))
    got = array("i", [-1] * size)
    world.Alltoallv([blocks, counts, offsets, MPI.INT], [got, counts, offsets, MPI.INT])
    total += sum(got)
for i in range(2):
    got = array("i", [-1] * size)
    types = [MPI.INT] * size
    where = [4 * offset for offset in offsets]
    world.Alltoallw([blocks, (counts, where), types], [got, (counts, where), types])
    total += sum(got)

# Rank r owns r + 1 bytes.
own = [r + 1 for r in range(size)]
starts = [sum(own[:r]) for r in range(size)]
mine = bytearray([rank] * own[rank])
for i in range(6):
    everything = bytearray(sum(own))
    world.Allgatherv([mine, MPI.BYTE], [everything, own, starts, MPI.BYTE])
    total += sum(everything)
for i in range(7):
    everything = bytearray(sum(own))
    world.Gatherv([mine, MPI.BYTE], [everything, own, starts, MPI.BYTE] if rank == 1 else None, root=1)
    total += sum(everything)
for i in range(8):
    everything = bytearray(range(sum(own)))
    share = bytearray(own[rank])
    world.Scatterv([everything, own, starts, MPI.BYTE] if rank == 1 else None, [share, MPI.BYTE], root=1)
    total += sum(share)
for i in range(9):
    got = doubles(own[rank])
    world.Reduce_scatter(doubles(sum(own), rank), got, own, op=MPI.MAX)
    total += got[0]
for i in range(11):
    got = doubles(1)
    world.Scan(doubles(1, rank + 1), got)
    total += got[0]

named = world.Dup()
named.Set_name("from python")
for i in range(12):
    buffer = doubles(2, rank)
    named.Allreduce(MPI.IN_PLACE, buffer, op=MPI.MAX)
    total += buffer[1]
named.Free()

# One write by rank 0 alone, so that lines cannot mix.
if rank == 0:
    line = f"{total}"
    for peer in range(1, size):
        got = doubles(1)
        world.Recv(got, source=peer)
        line += f" {got[0]}"
    os.write(1, (line + "\n").encode())
else:
    world.Send(doubles(1, total), dest=0)
