"""broken WHICH: three ranks that wait for ever, after ten calls that belong together."""

import sys
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
other = world.Dup()
got = array("i", [0])
for i in range(10):
    world.Allreduce(array("i", [rank]), got, op=MPI.SUM)

which = sys.argv[1]
if which == "python_receives":
    # Each rank waits for a message of the next.
    world.Recv(got, source=(rank + 1) % size, tag=7)
elif which == "python_objects":
    # Rank 1 waits for an object of rank 0, which is in a barrier.
    if rank == 1:
        world.recv(source=0, tag=7)
    world.Barrier()
elif which == "python_order":
    # Rank 0 and the others call on two communicators in another order.
    (world if rank == 0 else other).Barrier()
    (other if rank == 0 else world).Barrier()
