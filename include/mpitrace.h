/* What a program, an MPI library or a transport below it can tell the tracer that it runs under, and ask of it. Nothing has to be
 * linked: without the tracer the functions return -1 or 0, or do nothing. C and C++; for Fortran see mpitrace.f90. docs/counters.md
 * has an example. Programs linked to a fixed address (-no-pie) must be compiled with -fPIE all the same. */
#ifndef MPITRACE_H
#define MPITRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char *mpitrace_version_(void) __asm__("mpitrace_version") __attribute__((weak));
extern int mpitrace_counter_(const char *, const char *) __asm__("mpitrace_counter") __attribute__((weak));
extern int mpitrace_timer_(const char *) __asm__("mpitrace_timer") __attribute__((weak));
extern int mpitrace_region_(const char *) __asm__("mpitrace_region") __attribute__((weak));
extern void mpitrace_add_(int, uint64_t) __asm__("mpitrace_add") __attribute__((weak));
extern void mpitrace_timer_start_(int) __asm__("mpitrace_timer_start") __attribute__((weak));
extern void mpitrace_timer_stop_(int) __asm__("mpitrace_timer_stop") __attribute__((weak));
extern void mpitrace_region_begin_(int) __asm__("mpitrace_region_begin") __attribute__((weak));
extern void mpitrace_region_end_(int) __asm__("mpitrace_region_end") __attribute__((weak));

/* The functions below have names of their own: compiled without optimisation they would else be what the references lead to. */
#define mpitrace_version mpitrace_version_if_traced
#define mpitrace_counter mpitrace_counter_if_traced
#define mpitrace_timer mpitrace_timer_if_traced
#define mpitrace_add mpitrace_add_if_traced
#define mpitrace_timer_start mpitrace_timer_start_if_traced
#define mpitrace_timer_stop mpitrace_timer_stop_if_traced
#define mpitrace_region mpitrace_region_if_traced
#define mpitrace_region_begin mpitrace_region_begin_if_traced
#define mpitrace_region_end mpitrace_region_end_if_traced

/* The version of the tracer; NULL without one. */
static inline const char *mpitrace_version(void) { return mpitrace_version_ ? mpitrace_version_() : 0; }

/* Counters and timers: 30 of both together. What a thread adds belongs to the MPI call or region that it is in (to both, where a
 * call lies within a region): each repetition has its value in a fixed-size array, which the trace shows beside the time stamps.
 *
 * The number of the counter or timer of this name, the same for the same name at any time, before MPI_Init too; -1 without the
 * tracer and where there is no room. `unit` is what it counts in (NULL: times). */
static inline int mpitrace_counter(const char *name, const char *unit)
{
    return mpitrace_counter_ ? mpitrace_counter_(name, unit) : -1;
}

static inline int mpitrace_timer(const char *name) { return mpitrace_timer_ ? mpitrace_timer_(name) : -1; }

/* Adds to a counter. Costs a call and an addition. */
static inline void mpitrace_add(int counter, uint64_t value)
{
    if (mpitrace_add_) mpitrace_add_(counter, value);
}

/* Starts a timer, and stops it: the time in between is added. Costs a reading of the tick counter each. */
static inline void mpitrace_timer_start(int timer)
{
    if (mpitrace_timer_start_) mpitrace_timer_start_(timer);
}

static inline void mpitrace_timer_stop(int timer)
{
    if (mpitrace_timer_stop_) mpitrace_timer_stop_(timer);
}

/* Regions, for programs whose repetition is not one MPI call: what lies between begin and end, on one thread, is a repetition of an
 * operation that bears the region's name, on MPI_COMM_WORLD. The k-th one of each rank belong together. Regions may lie within each
 * other, and around MPI calls, which are recorded too. */
static inline int mpitrace_region(const char *name) { return mpitrace_region_ ? mpitrace_region_(name) : -1; }

static inline void mpitrace_region_begin(int region)
{
    if (mpitrace_region_begin_) mpitrace_region_begin_(region);
}

static inline void mpitrace_region_end(int region)
{
    if (mpitrace_region_end_) mpitrace_region_end_(region);
}

#ifdef MPI_VERSION
/* The end of a benchmark's loop. In mpitrace_bench.c, which the benchmark is compiled with; it needs no tracer, and the tracer sees
 * nothing of it. For programs that include mpi.h before this header.
 *
 * What is known of the measurement at the last look: of the rule robust the median, of mpiblib the mean. In the unit of the run times
 * that were given. */
struct mpitrace_measured {
    long repetitions;    /* so many had been made */
    long warmup;         /* of which so many at the beginning do not count */
    double value;        /* the median or the mean of the rest */
    double lower, upper; /* its interval; both 0 where there are too few for one */
    double error;        /* half of the interval over the value; infinite where it is not known */
    int decision;        /* as mpitrace_enough returned it */
};

/* Takes the run time of a repetition on this rank, in any unit, and says whether more are needed: 0: yes. 1: no, the warm-up is over
 * and the interval narrow enough. 2: no, there may be no more. -1: not known (no memory, an intercommunicator). Collective: all ranks
 * of the communicator ask after each repetition, and all have the same answer. The run time of a repetition is the longest of all
 * ranks; for the time of one rank alone the others give 0. MPITRACE_ENOUGH of rank 0 chooses the rule (docs/how-to/end-a-benchmark.md).
 * The run time that follows a 1 or a 2 is the first of another measurement. */
int mpitrace_enough(MPI_Comm comm, double run_time);

/* The next run time is the first of a measurement: for loops that may also end without an answer. Local. */
void mpitrace_enough_start(MPI_Comm comm);

/* What is known; returns -1 before the first look. Local. */
int mpitrace_enough_found(MPI_Comm comm, struct mpitrace_measured *found);
#endif

#ifdef __cplusplus
}
#endif

#endif
