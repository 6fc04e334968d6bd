/* A hybrid program of MPI and OpenMP: of rank 1 one thread alone packs the output, outside of the parallel regions, while
 * the other rank waits. `regions 1` has it, `regions 0` has not. */
#include <mpi.h>
#include <stdlib.h>

enum { STEPS = 150, POINTS = 200000 };

static double field[POINTS];
static unsigned char packed[POINTS];

__attribute__((noinline)) static void pack_output(void)
{
    volatile unsigned last = 0;
    for (int again = 0; again < 15; again++)
        for (int k = 0; k < POINTS; k++) packed[k] = (unsigned char)(last = last * 31 + (unsigned)field[k]); /* late */
}

__attribute__((noinline)) static double relax(void)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int k = 0; k < POINTS; k++) {
        for (int again = 0; again < 8; again++) field[k] = 0.5 * (field[k] + 1 / (1 + field[k]));
        sum += field[k];
    }
    return sum;
}

int main(int argc, char **argv)
{
    int rank, provided;
    double sum, all;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < STEPS; step++) {
        sum = relax();
        if (argc > 1 && atoi(argv[1]) == 1 && rank == 1) pack_output();
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
