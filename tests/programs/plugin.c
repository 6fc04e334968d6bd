/* The plugin: an MPI program behind another entry. */
#include <mpi.h>
#include <stdio.h>

int run(void)
{
    int value = 1, sum = 0, rank;
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) return 4;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 5; i++) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
