/* What a program, a library or a transport can ask of the tracer that it runs under. Nothing has to be linked: without the
 * tracer the functions say so. C, C++; from Fortran by ISO_C_BINDING after a C function of one's own. */
#ifndef MPITRACE_H
#define MPITRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char *mpitrace_version_(void) __asm__("mpitrace_version") __attribute__((weak));
extern int64_t mpitrace_global_time_ns_(void) __asm__("mpitrace_global_time_ns") __attribute__((weak));

/* The version of the tracer; NULL without one. */
static inline const char *mpitrace_version(void) { return mpitrace_version_ ? mpitrace_version_() : 0; }

/* Global time in ns since MPI_Init on world rank 0, as the last synchronisation of the clocks has it, which goes on at the rate
 * found so far: the trace will know it better. -1 without the tracer, and before MPI_Init has returned. Costs a reading of the
 * tick counter and a few loads. */
static inline int64_t mpitrace_global_time_ns(void)
{
    return mpitrace_global_time_ns_ ? mpitrace_global_time_ns_() : -1;
}

#ifdef __cplusplus
}
#endif

#endif
