! The binding of mpif.h. The same calls as in fortran_use_mpi.f90 and fortran_f08.f90; MPI_IN_PLACE wherever it may
! stand, as tools that convert it corrupt the program's data.
program fortran_mpif
  implicit none
  include 'mpif.h'
  integer :: half
  integer :: rank, ranks, i, numbers(3), blocks(16), mine
  double precision :: values(4), total
  integer :: ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  total = 0

  do i = 1, 20
    values = rank + i
    call MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
    total = total + values(4)
  end do
  do i = 1, 10
    numbers = merge(i, -1, rank == 0)
    call MPI_Bcast(numbers, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    total = total + numbers(3)
  end do
  do i = 1, 3
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end do

  do i = 1, 4
    blocks = -1
    blocks(2 * rank + 1:2 * rank + 2) = rank + i
    call MPI_Allgather(MPI_IN_PLACE, 2, MPI_INTEGER, blocks, 2, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    total = total + sum(blocks(1:2 * ranks))
  end do
  do i = 1, 5
    values = rank * i
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, values, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
    else
      call MPI_Reduce(values, values(2), 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
    end if
    total = total + values(1)
  end do
  do i = 1, 6
    blocks = rank + i
    mine = -1
    if (rank == 0) then
      call MPI_Scatter(blocks, 1, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    else
      call MPI_Scatter(blocks, 1, MPI_INTEGER, mine, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    end if
    total = total + mine
  end do

  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, half, ierror)
  call MPI_Comm_set_name(half, 'reversed', ierror)
  do i = 1, 7
    values = rank
    call MPI_Allreduce(MPI_IN_PLACE, values, 2, MPI_DOUBLE_PRECISION, MPI_MIN, half, ierror)
    total = total + values(2)
  end do
  call MPI_Comm_free(half, ierror)

  ! Every rank's result, by messages, as they are no collectives.
  if (rank == 0) then
    print '(a, i0, a, f0.3)', 'rank ', 0, ': ', total
    do i = 1, ranks - 1
      call MPI_Recv(total, 1, MPI_DOUBLE_PRECISION, i, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      print '(a, i0, a, f0.3)', 'rank ', i, ': ', total
    end do
  else
    call MPI_Send(total, 1, MPI_DOUBLE_PRECISION, 0, 5, MPI_COMM_WORLD, ierror)
  end if
  call MPI_Finalize(ierror)
end program
