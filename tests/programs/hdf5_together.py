"""Two ranks write one file of HDF5 together, and read it again."""
import sys

import h5py
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
rows = 64
with h5py.File(sys.argv[1], "w", driver="mpio", comm=comm) as file:
    for step in range(8):
        values = file.create_dataset(f"step{step}", (size * rows, 16), dtype="f8")
        with values.collective:
            values[rank * rows : (rank + 1) * rows] = np.arange(rows * 16.0).reshape(rows, 16) * (rank + 1) + step
        values.attrs["step"] = step
with h5py.File(sys.argv[1], "r", driver="mpio", comm=comm) as file:
    total = sum(float(file[f"step{step}"][...].sum()) for step in range(8))
total = comm.allreduce(total)
if rank == 0:
    print("total", total)
