! The C API from Fortran: a region of ten repetitions, a counter and a timer. Prints nothing but that it is done.
program inner_fortran
    use mpi
    use mpitrace
    use, intrinsic :: iso_c_binding, only: c_int64_t
    implicit none
    integer :: error, region, counter, timer, k
    real(8) :: in, out

    call MPI_Init(error)
    region = mpitrace_region('from Fortran')
    counter = mpitrace_counter('cells', 'cells')
    timer = mpitrace_timer('in the loop')
    in = 1
    do k = 1, 10
        call mpitrace_region_begin(region)
        call mpitrace_timer_start(timer)
        call MPI_Allreduce(in, out, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
        call mpitrace_add(counter, int(100 * k, c_int64_t))
        call mpitrace_timer_stop(timer)
        call mpitrace_region_end(region)
    end do
    call MPI_Finalize(error)
    print '(a)', 'done'
end program
