! The C API of mpitrace for Fortran: see mpitrace.h for what each does. Compile this file and mpitrace_fortran.c with the program;
! without the tracer the functions do nothing.
module mpitrace
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int64_t, c_null_char
    implicit none
    private
    public :: mpitrace_counter, mpitrace_timer, mpitrace_region
    public :: mpitrace_add, mpitrace_timer_start, mpitrace_timer_stop
    public :: mpitrace_region_begin, mpitrace_region_end, mpitrace_global_time_ns
    public :: mpitrace_rule, mpitrace_answer, mpitrace_online, mpitrace_judge, mpitrace_run_times

    ! What the functions return: see mpitrace.h.
    integer(c_int), parameter, public :: MPITRACE_UNKNOWN = -1, MPITRACE_CONTINUE = 0
    integer(c_int), parameter, public :: MPITRACE_ENOUGH = 1, MPITRACE_MAXIMUM = 2
    ! For a communicator: any.
    integer(c_int), parameter, public :: MPITRACE_ANY = -huge(0_c_int) - 1

    ! The stopping rule. 0 is the default of each field.
    type, bind(c) :: mpitrace_rule
        integer(c_int64_t) :: minimum = 0, maximum = 0
        real(c_double) :: error = 0, confidence = 0
        integer(c_int64_t) :: first = 0
    end type

    ! Why. -1: not known.
    type, bind(c) :: mpitrace_answer
        integer(c_int) :: decision = -1, warmup_over = -1
        integer(c_int64_t) :: repetitions = -1, looked_at = 0, warmup_end = -1
        real(c_double) :: median_ns = -1, lower_ns = -1, upper_ns = -1, error = -1
    end type

    interface
        function c_counter(name, unit) bind(c, name='mpitrace_fortran_counter') result(number)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: name(*), unit(*)
            integer(c_int) :: number
        end function
        function c_timer(name) bind(c, name='mpitrace_fortran_timer') result(number)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: number
        end function
        function c_region(name) bind(c, name='mpitrace_fortran_region') result(number)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: number
        end function
        subroutine mpitrace_add(counter, value) bind(c, name='mpitrace_fortran_add')
            import :: c_int, c_int64_t
            integer(c_int), value :: counter
            integer(c_int64_t), value :: value
        end subroutine
        subroutine mpitrace_timer_start(timer) bind(c, name='mpitrace_fortran_timer_start')
            import :: c_int
            integer(c_int), value :: timer
        end subroutine
        subroutine mpitrace_timer_stop(timer) bind(c, name='mpitrace_fortran_timer_stop')
            import :: c_int
            integer(c_int), value :: timer
        end subroutine
        subroutine mpitrace_region_begin(region) bind(c, name='mpitrace_fortran_region_begin')
            import :: c_int
            integer(c_int), value :: region
        end subroutine
        subroutine mpitrace_region_end(region) bind(c, name='mpitrace_fortran_region_end')
            import :: c_int
            integer(c_int), value :: region
        end subroutine
        function c_online(function, communicator, rule, answer) bind(c, name='mpitrace_fortran_online') result(decision)
            import :: c_char, c_int, mpitrace_rule, mpitrace_answer
            character(kind=c_char), intent(in) :: function(*)
            integer(c_int), value :: communicator
            type(mpitrace_rule), intent(in) :: rule
            type(mpitrace_answer), intent(out) :: answer
            integer(c_int) :: decision
        end function
        function c_run_times(function, communicator, first, ns, capacity) bind(c, name='mpitrace_fortran_run_times') &
                result(count)
            import :: c_char, c_double, c_int, c_int64_t
            character(kind=c_char), intent(in) :: function(*)
            integer(c_int), value :: communicator
            integer(c_int64_t), value :: first, capacity
            real(c_double), intent(inout) :: ns(*)
            integer(c_int64_t) :: count
        end function
        function c_judge(ns, count, rule, answer) bind(c, name='mpitrace_fortran_judge') result(decision)
            import :: c_double, c_int, c_int64_t, mpitrace_rule, mpitrace_answer
            real(c_double), intent(in) :: ns(*)
            integer(c_int64_t), value :: count
            type(mpitrace_rule), intent(in) :: rule
            type(mpitrace_answer), intent(out) :: answer
            integer(c_int) :: decision
        end function
        function mpitrace_global_time_ns() bind(c, name='mpitrace_fortran_global_time_ns') result(ns)
            import :: c_int64_t
            integer(c_int64_t) :: ns
        end function
    end interface

contains

    function mpitrace_counter(name, unit) result(number)
        character(*), intent(in) :: name, unit
        integer(c_int) :: number
        number = c_counter(trim(name)//c_null_char, trim(unit)//c_null_char)
    end function

    function mpitrace_timer(name) result(number)
        character(*), intent(in) :: name
        integer(c_int) :: number
        number = c_timer(trim(name)//c_null_char)
    end function

    function mpitrace_region(name) result(number)
        character(*), intent(in) :: name
        integer(c_int) :: number
        number = c_region(trim(name)//c_null_char)
    end function

    ! An empty name: any function. The communicator as an integer (that of mpi_f08: its MPI_VAL), or MPITRACE_ANY.
    function mpitrace_online(function, communicator, rule, answer) result(decision)
        character(*), intent(in) :: function
        integer, intent(in) :: communicator
        type(mpitrace_rule), intent(in) :: rule
        type(mpitrace_answer), intent(out) :: answer
        integer(c_int) :: decision
        decision = c_online(trim(function)//c_null_char, int(communicator, c_int), rule, answer)
    end function

    ! The number of run times from this repetition on. As many of them are stored as fit.
    function mpitrace_run_times(function, communicator, first, ns) result(count)
        character(*), intent(in) :: function
        integer, intent(in) :: communicator
        integer(c_int64_t), intent(in) :: first
        real(c_double), intent(inout) :: ns(:)
        integer(c_int64_t) :: count
        count = c_run_times(trim(function)//c_null_char, int(communicator, c_int), first, ns, &
                            int(size(ns), c_int64_t))
    end function

    function mpitrace_judge(ns, rule, answer) result(decision)
        real(c_double), intent(in) :: ns(:)
        type(mpitrace_rule), intent(in) :: rule
        type(mpitrace_answer), intent(out) :: answer
        integer(c_int) :: decision
        decision = c_judge(ns, int(size(ns), c_int64_t), rule, answer)
    end function
end module
