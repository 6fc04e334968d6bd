/* Run times of MPI_Allreduce on all ranks as ReproMPI measures them: each repetition is an MPI_Barrier, then the call between
 * two MPI_Wtime; its run time is the longest of all ranks. Printed by rank 0, for each size: the median and the 95th
 * percentile, ns. The sizes take turns, so that what else happens on the machine meets all of them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPETITIONS = 4000, SIZES = 3, LARGEST = 16384 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static const int counts[SIZES] = {8, 1024, LARGEST};
    static double times[SIZES][REPETITIONS], longest[SIZES][REPETITIONS];
    static char in[LARGEST], out[LARGEST];
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int repetition = 0; repetition < REPETITIONS; repetition++)
        for (int size = 0; size < SIZES; size++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            MPI_Allreduce(in, out, counts[size], MPI_CHAR, MPI_BOR, MPI_COMM_WORLD);
            times[size][repetition] = 1e9 * (MPI_Wtime() - start);
        }
    for (int size = 0; size < SIZES; size++) {
        MPI_Reduce(times[size], longest[size], REPETITIONS, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank != 0) continue;
        qsort(longest[size], REPETITIONS, sizeof(double), ascending);
        printf("%f %f\n", longest[size][REPETITIONS / 2], longest[size][REPETITIONS * 95 / 100]);
    }
    MPI_Finalize();
    return 0;
}
