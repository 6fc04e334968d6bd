#!/bin/bash
# A Fortran program: the same library and the same command, whichever of the three bindings it uses.
set -euo pipefail
cd "$(dirname "$0")/.."
. LD_PRELOAD-examples/settings
mpitrace=$(realpath "${CARGO_TARGET_DIR:-target}/release/mpitrace")
cd "$(mktemp -d)"

cat >program.f90 <<'END'
program diffusion
  use mpi_f08
  implicit none
  double precision :: heat(1000), total
  integer :: step
  call MPI_Init()
  heat = 1
  do step = 1, 300
    heat(2:999) = heat(2:999) + 0.1 * (heat(1:998) - 2 * heat(2:999) + heat(3:1000))
    total = sum(heat)
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end do
  call MPI_Finalize()
end program
END
mpif90 -O2 program.f90 -o program
"$mpitrace" run -o fortran.mpitrace -- mpirun -np 2 ./program

"$mpitrace" categorize fortran.mpitrace
rm -r "$PWD"
