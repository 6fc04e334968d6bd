! mpitrace_enough from Fortran: prints how many repetitions it took, and what is known of them.
program enough_fortran
    use, intrinsic :: iso_c_binding, only: c_double, c_int, c_long
    use mpitrace
    implicit none
    include 'mpif.h'
    integer :: ierror, rank, made
    integer(c_int) :: answer
    type(mpitrace_measured) :: found

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call mpitrace_enough_start(MPI_COMM_WORLD)
    made = 0
    answer = 0
    do while (made < 1000 .and. answer == 0)
        made = made + 1
        answer = mpitrace_enough(MPI_COMM_WORLD, 100.0_c_double + rank + mod(made, 3))
    end do
    answer = answer + 10 * mpitrace_enough_found(MPI_COMM_WORLD, found)
    if (rank == 0) print '(a, i0, a, i0, a, i0, a, f0.1)', 'enough ', made, ' ', answer, ' ', found%repetitions, ' ', found%value
    call MPI_Finalize(ierror)
end program
