/* spill CALLS: so many Allreduces of 8 bytes on each rank, on MPI_COMM_SELF; every tenth is a Barrier. Rank 0 prints the
 * seconds of the loop, the resident memory behind it and the most that there was up to the end of MPI_Finalize, KiB, the
 * seconds of MPI_Finalize, and of a second loop of as many calls the pauses: calls that took more than 5 us with what
 * came before them, their number, their median and their 99th percentile, us. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stamp.h"

#define PAUSE_FROM_US 5

static long status(const char *name)
{
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name))) value = strtol(line + strlen(name) + 1, NULL, 10);
    if (file) fclose(file);
    return value;
}

static void call(long i)
{
    double in = 1, out;
    if (i % 10 == 9) MPI_Barrier(MPI_COMM_SELF);
    else MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static int ascending(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv)
{
    long calls = argc > 1 ? atol(argv[1]) : 1000, pauses = 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = seconds();
    for (long i = 0; i < calls; i++) call(i);
    double loop = seconds() - start;
    long resident = status("VmRSS");
    uint64_t *pause = malloc(calls * sizeof *pause), first = stamp(), before = first;
    double second = seconds();
    for (long i = 0; i < calls; i++) {
        call(i);
        uint64_t now = stamp();
        /* 1 GHz is the slowest that counters go by. */
        if (now - before > PAUSE_FROM_US * 1000) pause[pauses++] = now - before;
        before = now;
    }
    double ticks_per_us = (before - first) / (seconds() - second) * 1e-6;
    long kept = 0;
    for (long i = 0; i < pauses; i++)
        if (pause[i] > PAUSE_FROM_US * ticks_per_us) pause[kept++] = pause[i];
    qsort(pause, kept, sizeof *pause, ascending);
    double median = kept ? pause[kept / 2] / ticks_per_us : 0, most = kept ? pause[kept * 99 / 100] / ticks_per_us : 0;
    free(pause);
    double finalize = seconds();
    MPI_Finalize();
    finalize = seconds() - finalize;
    if (rank == 0)
        printf("%f %ld %ld %f %ld %f %f\n", loop, resident, status("VmHWM"), finalize, kept, median, most);
    return 0;
}
