/* A program that hangs: after 100 steps rank 1 waits for a message that rank 0 never sends; rank 0 is in MPI_Barrier. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    double in = 1, out;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0; step < 100; step++) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d has made 100 steps\n", rank);
    fflush(stdout);
    if (rank == 1) MPI_Recv(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
