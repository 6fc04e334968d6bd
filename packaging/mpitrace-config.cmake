# find_package(mpitrace): the headers of the C API. Nothing is linked: without the tracer its functions do nothing.
#
#   mpitrace::mpitrace          an interface library with the folder of the headers
#   mpitrace_EXECUTABLE         the companion
#   mpitrace_LIBRARY            libmpitrace.so, to be preloaded
#   mpitrace_FORTRAN_SOURCES    to be compiled into a program in Fortran that says `use mpitrace`
#   mpitrace_BENCH_SOURCES      to be compiled into a benchmark that calls mpitrace_enough; it needs libm

get_filename_component(_mpitrace_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(mpitrace_EXECUTABLE "${_mpitrace_prefix}/bin/mpitrace")
set(mpitrace_LIBRARY "${_mpitrace_prefix}/lib/mpitrace/libmpitrace.so")
set(mpitrace_FORTRAN_SOURCES
  "${_mpitrace_prefix}/share/mpitrace/fortran/mpitrace.f90"
  "${_mpitrace_prefix}/share/mpitrace/fortran/mpitrace_fortran.c")
set(mpitrace_BENCH_SOURCES "${_mpitrace_prefix}/share/mpitrace/bench/mpitrace_bench.c")

if(NOT TARGET mpitrace::mpitrace)
  add_library(mpitrace::mpitrace INTERFACE IMPORTED)
  set_target_properties(mpitrace::mpitrace PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_mpitrace_prefix}/include")
endif()
unset(_mpitrace_prefix)
