/* What calls of several kinds take on MPI_COMM_SELF, each kind measured in turn in blocks, ns:
 *
 *   the 50th and the 99th percentile of single calls of MPI_Allreduce of 8 bytes;
 *   an MPI_Allreduce of one of 64 counts, one after the other: the median of BLOCKS blocks;
 *   an MPI_Iallreduce of 8 bytes with its MPI_Wait: the same;
 *   an MPI_Sendrecv of 8 bytes: the same;
 *   an MPI_Test of a receive of which no message comes: the same. */
#define _GNU_SOURCE
#include "stamp.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 300, CALLS = 640, OPERATIONS = 64 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double quantile(double *values, int count, double share)
{
    qsort(values, count, sizeof *values, ascending);
    return values[(int) (share * (count - 1))];
}

int main(int argc, char **argv)
{
    static double single[BLOCKS * CALLS], turns[BLOCKS], requests[BLOCKS], messages[BLOCKS], polls[BLOCKS];
    double in[OPERATIONS] = {0}, out[OPERATIONS];
    unsigned long long ticks = 0;
    double spent = 0;

    MPI_Init(&argc, &argv);
    for (int block = 0; block < BLOCKS; block++) {
        double start = now();
        unsigned long long first = stamp(), before = first, after = first;
        for (int i = 0; i < CALLS; i++) {
            before = stamp();
            MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
            after = stamp();
            single[block * CALLS + i] = (double) (after - before);
        }
        ticks += after - first;
        double middle = now();
        spent += middle - start;
        for (int i = 0; i < CALLS; i++)
            MPI_Allreduce(in, out, 1 + i % OPERATIONS, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        double turned = now();
        for (int i = 0; i < CALLS; i++) {
            MPI_Request request;
            MPI_Iallreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        double requested = now();
        for (int i = 0; i < CALLS; i++)
            MPI_Sendrecv(in, 1, MPI_DOUBLE, 0, 0, out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        turns[block] = (turned - middle) / CALLS;
        requests[block] = (requested - turned) / CALLS;
        messages[block] = (now() - requested) / CALLS;
        MPI_Request pending;
        MPI_Irecv(out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &pending);
        double polled = now();
        for (int i = 0, found; i < CALLS; i++) MPI_Test(&pending, &found, MPI_STATUS_IGNORE);
        polls[block] = (now() - polled) / CALLS;
        MPI_Send(in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&pending, MPI_STATUS_IGNORE);
    }
    double tick = spent / (double) ticks;
    printf("%f\n%f\n", tick * quantile(single, BLOCKS * CALLS, 0.5), tick * quantile(single, BLOCKS * CALLS, 0.99));
    printf("%f\n%f\n", quantile(turns, BLOCKS, 0.5), quantile(requests, BLOCKS, 0.5));
    printf("%f\n%f\n", quantile(messages, BLOCKS, 0.5), quantile(polls, BLOCKS, 0.5));
    MPI_Finalize();
    return 0;
}
