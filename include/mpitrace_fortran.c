/* What mpitrace.f90 calls: Fortran has no weak references. */
#include "mpitrace.h"

int mpitrace_fortran_counter(const char *name, const char *unit) { return mpitrace_counter(name, unit); }
int mpitrace_fortran_timer(const char *name) { return mpitrace_timer(name); }
int mpitrace_fortran_region(const char *name) { return mpitrace_region(name); }
void mpitrace_fortran_add(int counter, int64_t value) { mpitrace_add(counter, (uint64_t)value); }
void mpitrace_fortran_timer_start(int timer) { mpitrace_timer_start(timer); }
void mpitrace_fortran_timer_stop(int timer) { mpitrace_timer_stop(timer); }
void mpitrace_fortran_region_begin(int region) { mpitrace_region_begin(region); }
void mpitrace_fortran_region_end(int region) { mpitrace_region_end(region); }
