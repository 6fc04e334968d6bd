/* What one MPI_Allreduce of 8 bytes on MPI_COMM_SELF takes, two bare time stamps, an MPI_Send to MPI_PROC_NULL, an
 * MPI_Sendrecv of 8 bytes with this rank itself, an addition to a counter and a timer of include/mpitrace.h, a region,
 * and reading three events of the kernel: ns, the median of BLOCKS blocks of CALLS calls each. They are measured in
 * turn, so that the machine's speed is the same for all.
 *
 * With "fill" one number instead: processor time of all threads for each of FILL calls in one loop, ns. */
#define _GNU_SOURCE
#include "mpitrace.h"
#include "stamp.h"
#include <linux/perf_event.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 400, CALLS = 1000, FILL = 1000000 };

static double read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static double now(void)
{
    return read_clock(CLOCK_MONOTONIC_RAW);
}

/* task-clock, context-switches and page-faults in one group, which one read() gives; -1 where that is not allowed. */
static int open_events(void)
{
    static const int events[] = {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_PAGE_FAULTS};
    int leader = -1;
    for (int i = 0; i < 3; i++) {
        struct perf_event_attr attributes;
        memset(&attributes, 0, sizeof attributes);
        attributes.size = sizeof attributes;
        attributes.type = PERF_TYPE_SOFTWARE;
        attributes.config = events[i];
        attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        int event = (int) syscall(SYS_perf_event_open, &attributes, 0, -1, leader, 0);
        if (leader < 0) leader = event;
    }
    return leader;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double call[BLOCKS], pair[BLOCKS], nobody[BLOCKS], self[BLOCKS];
    static double add[BLOCKS], timed[BLOCKS], regions[BLOCKS], reading[BLOCKS];
    volatile unsigned long long sink = 0;
    double in = 1, out;

    MPI_Init(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "fill")) {
        double start = read_clock(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < FILL; i++)
            MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        printf("%f\n", (read_clock(CLOCK_PROCESS_CPUTIME_ID) - start) / FILL);
        MPI_Finalize();
        return 0;
    }
    /* Who uses the C API pays for it in each call: only where it is what is measured. */
    int inner = strcmp(what, "inner") ? 0 : CALLS;
    if (!strcmp(what, "paused"))
        MPI_Pcontrol(0);
    int counter = mpitrace_counter("added", NULL), timer = mpitrace_timer("timed"), region = mpitrace_region("region");
    int events = open_events();
    unsigned long long values[6];
    for (int block = 0; block < BLOCKS; block++) {
        double start = now();
        for (int i = 0; i < CALLS; i++)
            MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        double middle = now();
        for (int i = 0; i < CALLS; i++)
            sink += stamp() - stamp();
        double stamped = now();
        for (int i = 0; i < CALLS; i++)
            MPI_Send(&in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_SELF);
        double sent = now();
        for (int i = 0; i < CALLS / 10; i++)
            MPI_Sendrecv(&in, 1, MPI_DOUBLE, 0, 0, &out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        double end = now();
        for (int i = 0; i < inner; i++) mpitrace_add(counter, 1);
        double added = now();
        for (int i = 0; i < inner; i++) {
            mpitrace_timer_start(timer);
            mpitrace_timer_stop(timer);
        }
        double stopped = now();
        for (int i = 0; i < inner / 10; i++) {
            mpitrace_region_begin(region);
            mpitrace_region_end(region);
        }
        double ended = now();
        for (int i = 0; i < CALLS / 10; i++) sink += (unsigned long long) read(events, values, sizeof values);
        double asked = now();
        add[block] = (added - end) / CALLS;
        timed[block] = (stopped - added) / CALLS;
        regions[block] = (ended - stopped) / (CALLS / 10);
        reading[block] = (asked - ended) / (CALLS / 10);
        call[block] = (middle - start) / CALLS;
        pair[block] = (stamped - middle) / CALLS;
        nobody[block] = (sent - stamped) / CALLS;
        self[block] = (end - sent) / (CALLS / 10);
    }
    double *results[] = {call, pair, nobody, self, add, timed, regions, reading};
    for (int i = 0; i < 8; i++) {
        qsort(results[i], BLOCKS, sizeof(double), ascending);
        printf("%f\n", results[i][BLOCKS / 2]);
    }
    MPI_Finalize();
    return 0;
}
