/* How long MPI_Init took on each rank, milliseconds. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
    double begin = milliseconds();
    MPI_Init(&argc, &argv);
    printf("init %.3f\n", milliseconds() - begin);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
