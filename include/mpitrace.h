/* What a program, an MPI library or a transport below it can tell the tracer that it runs under, and ask of it. Nothing has to be
 * linked: without the tracer the functions say so, or do nothing. C and C++; for Fortran see mpitrace.f90. docs/inner-counters.md
 * has an example. Programs linked to a fixed address (-no-pie) must be compiled with -fPIE all the same. */
#ifndef MPITRACE_H
#define MPITRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char *mpitrace_version_(void) __asm__("mpitrace_version") __attribute__((weak));
extern int64_t mpitrace_global_time_ns_(void) __asm__("mpitrace_global_time_ns") __attribute__((weak));
extern int mpitrace_counter_(const char *, const char *) __asm__("mpitrace_counter") __attribute__((weak));
extern int mpitrace_timer_(const char *) __asm__("mpitrace_timer") __attribute__((weak));
extern int mpitrace_region_(const char *) __asm__("mpitrace_region") __attribute__((weak));
extern void mpitrace_add_(int, uint64_t) __asm__("mpitrace_add") __attribute__((weak));
extern void mpitrace_timer_start_(int) __asm__("mpitrace_timer_start") __attribute__((weak));
extern void mpitrace_timer_stop_(int) __asm__("mpitrace_timer_stop") __attribute__((weak));
extern void mpitrace_region_begin_(int) __asm__("mpitrace_region_begin") __attribute__((weak));
extern void mpitrace_region_end_(int) __asm__("mpitrace_region_end") __attribute__((weak));
struct mpitrace_rule;
struct mpitrace_answer;
extern int mpitrace_online_(const char *, uintptr_t, const struct mpitrace_rule *, struct mpitrace_answer *)
    __asm__("mpitrace_online") __attribute__((weak));
extern int mpitrace_online_fortran_(const char *, int, const struct mpitrace_rule *, struct mpitrace_answer *)
    __asm__("mpitrace_online_fortran") __attribute__((weak));
extern int mpitrace_judge_(const double *, size_t, const struct mpitrace_rule *, struct mpitrace_answer *)
    __asm__("mpitrace_judge") __attribute__((weak));
extern size_t mpitrace_run_times_(const char *, uintptr_t, int64_t, double *, size_t) __asm__("mpitrace_run_times")
    __attribute__((weak));
extern size_t mpitrace_run_times_fortran_(const char *, int, int64_t, double *, size_t)
    __asm__("mpitrace_run_times_fortran") __attribute__((weak));
extern size_t mpitrace_values_(int, int, uint64_t *, size_t) __asm__("mpitrace_values") __attribute__((weak));

/* The functions below have names of their own: compiled without optimisation they would else be what the references lead to. */
#define mpitrace_version mpitrace_version_if_traced
#define mpitrace_global_time_ns mpitrace_global_time_ns_if_traced
#define mpitrace_counter mpitrace_counter_if_traced
#define mpitrace_timer mpitrace_timer_if_traced
#define mpitrace_add mpitrace_add_if_traced
#define mpitrace_timer_start mpitrace_timer_start_if_traced
#define mpitrace_timer_stop mpitrace_timer_stop_if_traced
#define mpitrace_region mpitrace_region_if_traced
#define mpitrace_region_begin mpitrace_region_begin_if_traced
#define mpitrace_region_end mpitrace_region_end_if_traced
#define mpitrace_values mpitrace_values_if_traced
#define mpitrace_online mpitrace_online_if_traced
#define mpitrace_judge mpitrace_judge_if_traced
#define mpitrace_run_times mpitrace_run_times_if_traced

/* The version of the tracer; NULL without one. */
static inline const char *mpitrace_version(void) { return mpitrace_version_ ? mpitrace_version_() : 0; }

/* Global time in ns since MPI_Init on world rank 0, as the last synchronisation of the clocks has it, which goes on at the rate
 * found so far: the trace will know it better. -1 without the tracer, and before MPI_Init has returned. Costs a reading of the
 * tick counter and a few loads. */
static inline int64_t mpitrace_global_time_ns(void)
{
    return mpitrace_global_time_ns_ ? mpitrace_global_time_ns_() : -1;
}

/* Counters and timers: 32 of both together. What a thread adds belongs to the MPI call or region that it is in (to both, where a
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

/* The array of a counter, or of a timer in ns: its values in the repetitions of a region that this rank has kept so far. Returns how
 * many there are, and stores the first `capacity` of them. 0 without the tracer. */
static inline size_t mpitrace_values(int region, int counter, uint64_t *values, size_t capacity)
{
    return mpitrace_values_ ? mpitrace_values_(region, counter, values, capacity) : 0;
}

/* Answers while the program runs: end of the warm-up, and number of repetitions.
 * docs/developers/online.md has examples.
 *
 * The stopping rule. 0 is the default of each field. A null pointer is the default of all fields. */
struct mpitrace_rule {
    int64_t minimum;   /* the least number of repetitions: 50 */
    int64_t maximum;   /* the largest number: 65536, which is also the upper limit */
    double error;      /* half of the interval of the median over the median: 0.01, which is 1 % */
    double confidence; /* of that interval: 0.95 */
    int64_t first;     /* the first repetition to use, for an operation that was measured before: 0 */
};

/* What the functions return. Ranks that reduce it with MPI_MIN stop together when the minimum is above 0. */
enum {
    MPITRACE_UNKNOWN = -1, /* no tracer, no such call was kept, or the rule is invalid */
    MPITRACE_CONTINUE = 0, /* more repetitions are needed */
    MPITRACE_ENOUGH = 1,   /* the warm-up is over, and the error is small enough */
    MPITRACE_MAXIMUM = 2   /* the maximum is reached, and they are not enough */
};

/* Why. -1: not known. */
struct mpitrace_answer {
    int decision;        /* one of the above */
    int warmup_over;     /* 1: the run times have reached one level; 0: they have not; -1: there are too few */
    int64_t repetitions; /* calls of the operation from `first` on */
    int64_t looked_at;   /* repetitions that the answer is based on */
    int64_t warmup_end;  /* the first repetition after the warm-up, counted from `first`; -1: there was none */
    double median_ns;    /* of the repetitions after the warm-up */
    double lower_ns, upper_ns; /* its interval */
    double error;        /* half of that over the median */
};

/* Applies the rule to this rank's run times of an operation: the last called one with this function ("MPI_Bcast", or a
 * region's name; NULL: any) and communicator (0: any). It evaluates `minimum` repetitions, then each time a quarter
 * more. In between it repeats its last answer, at almost no cost. */
static inline int mpitrace_online(const char *function, uintptr_t communicator, const struct mpitrace_rule *rule,
                                  struct mpitrace_answer *answer)
{
    static const struct mpitrace_answer unknown = {MPITRACE_UNKNOWN, -1, -1, 0, -1, -1, -1, -1, -1};
    if (mpitrace_online_) return mpitrace_online_(function, communicator, rule, answer);
    if (answer) *answer = unknown;
    return MPITRACE_UNKNOWN;
}

/* The run times of that operation on this rank in ns, of the repetitions from `first` on, up to the first that was not
 * kept. Returns how many there are, and stores the first `capacity` of them. 0 without the tracer. */
static inline size_t mpitrace_run_times(const char *function, uintptr_t communicator, int64_t first, double *ns,
                                        size_t capacity)
{
    return mpitrace_run_times_ ? mpitrace_run_times_(function, communicator, first, ns, capacity) : 0;
}

/* Applies the rule to these run times. Ranks with the same run times, after a reduction by the program, make the same
 * decision. `first` is ignored. */
static inline int mpitrace_judge(const double *ns, size_t count, const struct mpitrace_rule *rule,
                                 struct mpitrace_answer *answer)
{
    static const struct mpitrace_answer unknown = {MPITRACE_UNKNOWN, -1, -1, 0, -1, -1, -1, -1, -1};
    if (mpitrace_judge_) return mpitrace_judge_(ns, count, rule, answer);
    if (answer) *answer = unknown;
    return MPITRACE_UNKNOWN;
}

#ifdef __cplusplus
}
#endif

#endif
