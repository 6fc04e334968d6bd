! The C API of mpitrace for Fortran: see mpitrace.h for what each does. Compile this file and mpitrace_fortran.c with the program;
! without the tracer the functions do nothing.
module mpitrace
    use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int, c_int64_t, c_long, c_null_char
    implicit none
    private
    public :: mpitrace_counter, mpitrace_timer, mpitrace_region
    public :: mpitrace_add, mpitrace_timer_start, mpitrace_timer_stop
    public :: mpitrace_region_begin, mpitrace_region_end
    ! Of mpitrace_bench.c: communicators are integers (that of mpi_f08: its MPI_VAL).
    public :: mpitrace_measured, mpitrace_enough, mpitrace_enough_start, mpitrace_enough_found

    type, bind(c) :: mpitrace_measured
        integer(c_long) :: repetitions = 0, warmup = 0
        real(c_double) :: value = 0, lower = 0, upper = 0, error = 0
        integer(c_int) :: decision = 0
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
        function mpitrace_enough(communicator, run_time) bind(c, name='mpitrace_fortran_enough') result(answer)
            import :: c_double, c_int
            integer(c_int), value :: communicator
            real(c_double), value :: run_time
            integer(c_int) :: answer
        end function
        subroutine mpitrace_enough_start(communicator) bind(c, name='mpitrace_fortran_enough_start')
            import :: c_int
            integer(c_int), value :: communicator
        end subroutine
        function mpitrace_enough_found(communicator, found) bind(c, name='mpitrace_fortran_enough_found') result(is_unknown)
            import :: c_int, mpitrace_measured
            integer(c_int), value :: communicator
            type(mpitrace_measured), intent(inout) :: found
            integer(c_int) :: is_unknown
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
end module
