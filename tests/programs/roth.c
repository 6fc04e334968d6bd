/* roth: the functions of roth_tracing from two places: a repetition is begun by the program, counted and timed by what
 * it calls. Rank 0 prints what it reads back; every other number of it is only checked. */
#include "report.h"
#include "roth_tracing.h"

#include <unistd.h>

enum { SENDS, RETRIES, COUNTERS };
enum { OUTER_TIME, INNER_TIME, TIMERS };
static const char *const counters[] = {"SENDS", "RETRIES"}, *const timers[] = {"OUTER_TIME", "INNER_TIME"};

#define REPETITIONS 12

static void transport(int retries)
{
    roth_tracing_start_timer(OUTER_TIME);
    roth_tracing_increment_counter(SENDS);
    for (int i = 0; i < retries; i++) {
        roth_tracing_start_timer(INNER_TIME);
        usleep(200);
        roth_tracing_stop_timer(INNER_TIME);
        roth_tracing_increment_counter(RETRIES);
    }
    roth_tracing_stop_timer(OUTER_TIME);
}

int main(int argc, char **argv)
{
    double in = 1, out;
    init_tracer(REPETITIONS, counters, COUNTERS, timers, TIMERS);
    MPI_Init(&argc, &argv);
    world();
    transport(3); /* no repetition is in progress: not measured */
    for (int k = 0; k < REPETITIONS; k++) {
        roth_tracing_start_repetition(k);
        transport(k % 3);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (k == 5) {
            roth_tracing_stop_repetition();
            transport(1);
        }
    }
    roth_tracing_start_repetition(REPETITIONS); /* there is none of this number */
    transport(1);
    roth_tracing_increment_counter(COUNTERS);
    roth_tracing_stop_timer(-1);

    const int *counts = roth_tracing_get_counter_data();
    const double *times = roth_tracing_get_time_data();
    CHECK((counts == NULL) == (get_number_of_counter_metrics() == 0) && (times == NULL) == (counts == NULL));
    report("%d and %d metrics", get_number_of_counter_metrics(), get_number_of_time_metrics());
    if (counts) {
        CHECK(!strcmp(get_counter_metric_name(RETRIES), "RETRIES"));
        CHECK(!strcmp(get_time_metric_name(OUTER_TIME), "OUTER_TIME"));
        CHECK(!get_counter_metric_name(COUNTERS) && !get_time_metric_name(-1));
        for (int k = 0; k < REPETITIONS; k++) {
            const double *outer = times + OUTER_TIME * REPETITIONS, *inner = times + INNER_TIME * REPETITIONS;
            CHECK(inner[k] >= k % 3 * 200e-6 && outer[k] >= inner[k] && outer[k] < 100);
            report("repetition %d: %d sends, %d retries", k,
                counts[SENDS * REPETITIONS + k], counts[RETRIES * REPETITIONS + k]);
        }
    }
    MPI_Finalize();
    return 0;
}
