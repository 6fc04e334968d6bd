/* An ordinary MPI program, which knows nothing of the tracer: 2000 Allreduces of 8 bytes and 500 Bcasts of 4 KiB. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    static char block[4096];
    double mine, sum = 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2000; i++) {
        mine = rank + i;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 500; i++) MPI_Bcast(block, sizeof block, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("the last sum is %g\n", sum);
    MPI_Finalize();
    return 0;
}
