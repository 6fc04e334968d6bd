! The C API of mpitrace for Fortran: see mpitrace.h for what each does. Compile this file and mpitrace_fortran.c with the program;
! without the tracer the functions do nothing.
module mpitrace
    use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t, c_null_char
    implicit none
    private
    public :: mpitrace_counter, mpitrace_timer, mpitrace_region
    public :: mpitrace_add, mpitrace_timer_start, mpitrace_timer_stop
    public :: mpitrace_region_begin, mpitrace_region_end

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
