! broken WHICH: three ranks that wait for ever, after ten calls that belong together.
program broken
  use mpi
  implicit none
  integer :: rank, ranks, i, given, got, other, ierror, request
  character(len=32) :: which

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, other, ierror)
  call get_command_argument(1, which)
  given = rank
  do i = 1, 10
    call MPI_Allreduce(given, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  end do
  select case (which)
  ! Each rank waits for a message of the next.
  case ('fortran_receives')
    call MPI_Recv(got, 1, MPI_INTEGER, mod(rank + 1, ranks), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  ! Rank 1 waits for a message of rank 0, which is in a barrier, by a request.
  case ('fortran_request')
    if (rank == 1) then
      call MPI_Irecv(got, 1, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, request, ierror)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  ! Rank 0 and the others call on two communicators in another order.
  case ('fortran_order')
    call MPI_Barrier(merge(MPI_COMM_WORLD, other, rank == 0), ierror)
    call MPI_Barrier(merge(other, MPI_COMM_WORLD, rank == 0), ierror)
  end select
  call MPI_Finalize(ierror)
end program broken
