/* Rank 1 dies; the others revoke MPI_COMM_WORLD, go on with a smaller communicator, and end with 0 (ULFM). The library may
 * hang by itself on a busy machine: then an alarm ends the program. */
#include <mpi.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, ranks, result = MPI_SUCCESS;
    MPI_Comm shrunk;
    alarm(40);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 10; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        raise(SIGKILL);
    while (result == MPI_SUCCESS)
        result = MPI_Barrier(MPI_COMM_WORLD);
    MPIX_Comm_revoke(MPI_COMM_WORLD);
    MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk);
    MPI_Comm_size(shrunk, &ranks);
    for (int i = 0; i < 20; i++)
        MPI_Barrier(shrunk);
    MPI_Comm_free(&shrunk);
    /* The launcher may have stopped passing output on when MPI_Finalize returns. */
    printf("rank %d of %d\n", rank, ranks);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
