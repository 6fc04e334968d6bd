/* run_cost SECONDS: a job that computes for so long, with an Allreduce each millisecond. Each rank prints how long
 * MPI_Init and MPI_Finalize took, milliseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
    double limit = argc > 1 ? atof(argv[1]) * 1e3 : 0, begin = milliseconds();
    MPI_Init(&argc, &argv);
    double init = milliseconds() - begin;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* As many calls on each rank, whatever the clock says. */
    for (int call = 0; call < limit; call++) {
        struct timespec from, now;
        double sum = 1, all;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < 1000000);
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (all != size) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    begin = milliseconds();
    MPI_Finalize();
    printf("init %.3f finalize %.3f\n", init, milliseconds() - begin);
    return 0;
}
