! Rank 1 waits for a message that no rank sends.
module halo
  use mpi
contains
  subroutine exchange(rank)
    integer, intent(in) :: rank
    integer :: value, error
    real :: local(20000)
    local = rank
    if (rank == 1) then
      call MPI_Recv(value, 1, MPI_INTEGER, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error) ! recv
    end if
    if (sum(local) < -1) print *, local(3)
  end subroutine
end module

program stands
  use mpi
  use halo
  integer :: rank, error
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call exchange(rank) ! main
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)
end program
