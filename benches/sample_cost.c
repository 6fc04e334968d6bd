/* A fixed amount of work; each rank prints the processor time that it took, s. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    struct timespec begin, end;
    volatile double sum = 0;
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (long i = 0; i < rounds * 100000000L; i++) sum += (double)i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    printf("took %.6f\n", (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
    MPI_Finalize();
    return 0;
}
