! Three ranks. Rank 1 waits for a message of any rank in four ways, without a status in three of them; it comes from
! rank 0 and from rank 2 in turn, late. A barrier ends each.
program partners_mpif
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, i, from, number, numbers(2), ierror
  integer :: q(2)
  integer :: status(MPI_STATUS_SIZE)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  number = 7
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  do i = 0, 7
    from = merge(0, 2, mod(i, 2) == 0)
    if (rank == from) then
      call sleep(1)
      call MPI_Send(number, 1, MPI_INTEGER, 1, i, MPI_COMM_WORLD, ierror)
      if (i / 2 == 3) call MPI_Send(number, 1, MPI_INTEGER, 1, i + 100, MPI_COMM_WORLD, ierror)
    else if (rank == 1) then
      select case (i / 2)
      case (0)
        call MPI_Recv(number, 1, MPI_INTEGER, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      case (1)
        call MPI_Recv(number, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierror)
        if (status(MPI_SOURCE) /= from) call MPI_Abort(MPI_COMM_WORLD, 99, ierror)
      case (2)
        call MPI_Irecv(number, 1, MPI_INTEGER, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, q(1), ierror)
        call MPI_Wait(q(1), MPI_STATUS_IGNORE, ierror)
      case (3)
        call MPI_Irecv(numbers(1), 1, MPI_INTEGER, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, q(1), ierror)
        call MPI_Irecv(numbers(2), 1, MPI_INTEGER, MPI_ANY_SOURCE, i + 100, MPI_COMM_WORLD, q(2), ierror)
        call MPI_Waitall(2, q, MPI_STATUSES_IGNORE, ierror)
        if (any(numbers /= 7)) call MPI_Abort(MPI_COMM_WORLD, 98, ierror)
      end select
      if (number /= 7) call MPI_Abort(MPI_COMM_WORLD, 97, ierror)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end do
  if (rank == 0) print '(a, i0)', 'ranks ', ranks
  call MPI_Finalize(ierror)
end program
