/* Rank 0 cancels receives, with and without a status, and one that a message has come for; then it receives 20 messages
 * of the same rank and tag. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, value = 0, cancelled;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int i = 0; i < 2; i++) MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, requests + i);
        MPI_Cancel(requests + 1);
        MPI_Cancel(requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        MPI_Wait(requests + 1, &status);
        MPI_Test_cancelled(&status, &cancelled);
        if (!cancelled) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Probe(1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, requests);
        MPI_Cancel(requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 20; i++) {
        if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
