/* What one MPI_Allreduce of 8 bytes on MPI_COMM_SELF takes, two bare time stamps, an MPI_Send to nobody and an MPI_Sendrecv of
 * 8 bytes with this rank itself: ns, the median of BLOCKS blocks of CALLS calls each. They are measured in turn, so that the
 * machine's speed is the same for all. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { BLOCKS = 400, CALLS = 1000 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static unsigned long long stamp(void)
{
#if defined(__x86_64__)
    unsigned processor;
    return __rdtscp(&processor);
#elif defined(__aarch64__)
    unsigned long long ticks;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return (unsigned long long) now();
#endif
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static double call[BLOCKS], pair[BLOCKS], nobody[BLOCKS], self[BLOCKS];
    volatile unsigned long long sink = 0;
    double in = 1, out;

    MPI_Init(&argc, &argv);
    if (argc > 1)
        MPI_Pcontrol(0);
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
        call[block] = (middle - start) / CALLS;
        pair[block] = (stamped - middle) / CALLS;
        nobody[block] = (sent - stamped) / CALLS;
        self[block] = (end - sent) / (CALLS / 10);
    }
    double *results[] = {call, pair, nobody, self};
    for (int i = 0; i < 4; i++) {
        qsort(results[i], BLOCKS, sizeof(double), ascending);
        printf("%f\n", results[i][BLOCKS / 2]);
    }
    MPI_Finalize();
    return 0;
}
