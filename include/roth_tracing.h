/* The functions of roth_tracing (Roth's thesis, section 4.6.2) on mpitrace: counters and timers per repetition, in simple arrays, from any
 * part of the stack. Nothing has to be linked: without the tracer all of them do nothing, and there are no metrics.
 *
 * There the metrics are enumerations compiled into the library; here their names are given to init_tracer in the order of the
 * enumeration:
 *
 *     enum { SENDS, COUNTERS };
 *     enum { CHECK_QFREE_TIME, TIMERS };
 *     static const char *const counters[] = {"SENDS"}, *const timers[] = {"CHECK_QFREE_TIME"};
 *     init_tracer(repetitions, counters, COUNTERS, timers, TIMERS);
 *
 * The arrays hold [metric * repetitions + repetition], times in seconds. The same values are in the trace, where a repetition is one of
 * the region `roth_tracing`. */
#ifndef ROTH_TRACING_H
#define ROTH_TRACING_H

#ifdef __cplusplus
extern "C" {
#endif

typedef int counter_metric;
typedef int time_metric;

extern void roth_tracing_init_(long, const char *const *, int, const char *const *, int) __asm__("roth_tracing_init") __attribute__((weak));
extern void roth_tracing_start_repetition_(long) __asm__("roth_tracing_start_repetition") __attribute__((weak));
extern void roth_tracing_stop_repetition_(void) __asm__("roth_tracing_stop_repetition") __attribute__((weak));
extern void roth_tracing_increment_counter_(int) __asm__("roth_tracing_increment_counter") __attribute__((weak));
extern void roth_tracing_start_timer_(int) __asm__("roth_tracing_start_timer") __attribute__((weak));
extern void roth_tracing_stop_timer_(int) __asm__("roth_tracing_stop_timer") __attribute__((weak));
extern int *roth_tracing_get_counter_data_(void) __asm__("roth_tracing_get_counter_data") __attribute__((weak));
extern double *roth_tracing_get_time_data_(void) __asm__("roth_tracing_get_time_data") __attribute__((weak));
extern int roth_tracing_number_of_counter_metrics_(void) __asm__("roth_tracing_number_of_counter_metrics") __attribute__((weak));
extern int roth_tracing_number_of_time_metrics_(void) __asm__("roth_tracing_number_of_time_metrics") __attribute__((weak));
extern const char *roth_tracing_counter_metric_name_(int) __asm__("roth_tracing_counter_metric_name") __attribute__((weak));
extern const char *roth_tracing_time_metric_name_(int) __asm__("roth_tracing_time_metric_name") __attribute__((weak));

/* The functions below have names of their own: compiled without optimisation they would else be what the references lead to. */
#define roth_tracing_start_repetition roth_tracing_start_repetition_if_traced
#define roth_tracing_stop_repetition roth_tracing_stop_repetition_if_traced
#define roth_tracing_increment_counter roth_tracing_increment_counter_if_traced
#define roth_tracing_start_timer roth_tracing_start_timer_if_traced
#define roth_tracing_stop_timer roth_tracing_stop_timer_if_traced
#define roth_tracing_get_counter_data roth_tracing_get_counter_data_if_traced
#define roth_tracing_get_time_data roth_tracing_get_time_data_if_traced

/* Makes the arrays. To be called once, by one thread. */
static inline void init_tracer(long repetitions, const char *const *counters, int number_of_counters, const char *const *timers,
                               int number_of_timers)
{
    if (roth_tracing_init_) roth_tracing_init_(repetitions, counters, number_of_counters, timers, number_of_timers);
}

/* Resets the values of this repetition, makes it the current one, and starts measuring; ends the one before. */
static inline void roth_tracing_start_repetition(long repetition)
{
    if (roth_tracing_start_repetition_) roth_tracing_start_repetition_(repetition);
}

/* Ends the repetition: nothing is measured until the next one. */
static inline void roth_tracing_stop_repetition(void)
{
    if (roth_tracing_stop_repetition_) roth_tracing_stop_repetition_();
}

/* Adds one. */
static inline void roth_tracing_increment_counter(counter_metric metric)
{
    if (roth_tracing_increment_counter_) roth_tracing_increment_counter_(metric);
}

/* Adds the time between start and stop. */
static inline void roth_tracing_start_timer(time_metric metric)
{
    if (roth_tracing_start_timer_) roth_tracing_start_timer_(metric);
}

static inline void roth_tracing_stop_timer(time_metric metric)
{
    if (roth_tracing_stop_timer_) roth_tracing_stop_timer_(metric);
}

/* The arrays; NULL without the tracer. */
static inline int *roth_tracing_get_counter_data(void)
{
    return roth_tracing_get_counter_data_ ? roth_tracing_get_counter_data_() : 0;
}

static inline double *roth_tracing_get_time_data(void)
{
    return roth_tracing_get_time_data_ ? roth_tracing_get_time_data_() : 0;
}

static inline int get_number_of_counter_metrics(void)
{
    return roth_tracing_number_of_counter_metrics_ ? roth_tracing_number_of_counter_metrics_() : 0;
}

static inline int get_number_of_time_metrics(void)
{
    return roth_tracing_number_of_time_metrics_ ? roth_tracing_number_of_time_metrics_() : 0;
}

/* NULL for a metric that does not exist. */
static inline const char *get_counter_metric_name(counter_metric metric)
{
    return roth_tracing_counter_metric_name_ ? roth_tracing_counter_metric_name_(metric) : 0;
}

static inline const char *get_time_metric_name(time_metric metric)
{
    return roth_tracing_time_metric_name_ ? roth_tracing_time_metric_name_(metric) : 0;
}

#ifdef __cplusplus
}
#endif

#endif
