! A benchmark that stops by the rule, from Fortran: see online.c. Prints what rank 0 was told.
program inner_online
    use mpi
    use mpitrace
    use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_double
    implicit none
    integer :: error, rank, k, all
    integer(c_int) :: decision
    integer(c_int64_t) :: count
    type(mpitrace_rule) :: rule
    type(mpitrace_answer) :: answer
    real(8) :: in, out
    real(c_double) :: ns(300), longest(300)

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    rule%minimum = 60
    rule%maximum = 2000
    rule%error = 0.1d0
    in = 1
    all = 0
    do k = 1, 2000
        call MPI_Allreduce(in, out, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
        if (mod(k, 10) /= 0) cycle
        decision = mpitrace_online('MPI_Allreduce', MPI_COMM_WORLD, rule, answer)
        if (decision == MPITRACE_UNKNOWN .and. k >= 200) decision = MPITRACE_MAXIMUM
        call MPI_Allreduce(decision, all, 1, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, error)
        if (all > 0) exit
    end do
    if (rank == 0) print '(a,5(1x,i0))', 'alone', k, decision, answer%warmup_over, answer%repetitions, answer%looked_at

    do k = 1, 300
        call MPI_Bcast(in, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
    end do
    ns = 0
    rule = mpitrace_rule(minimum=300, maximum=300)
    count = mpitrace_run_times('MPI_Bcast', MPITRACE_ANY, 0_c_int64_t, ns)
    call MPI_Allreduce(ns, longest, 300, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
    decision = mpitrace_judge(longest(1:count), rule, answer)
    if (rank == 0) print '(a,4(1x,i0),1x,f0.3)', 'together', count, decision, answer%looked_at, answer%warmup_end, &
        answer%median_ns
    call MPI_Finalize(error)
end program
