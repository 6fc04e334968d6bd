/* overlapped SECONDS: a right program of three ranks. Rank 0 has an Ibarrier under way and receives a message of rank 2,
 * rank 1 is in a Barrier on another communicator, and rank 2 computes and probes for so many seconds before it sends. */
#include "report.h"

int main(int argc, char **argv)
{
    int word = 0, flag;
    double seconds = argc > 1 ? atof(argv[1]) : 6;
    MPI_Comm other;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (world_rank == 0) {
        MPI_Ibarrier(other, &request);
        MPI_Recv(&word, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (world_rank == 2) {
        for (double until = MPI_Wtime() + seconds; MPI_Wtime() < until;) {
            MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            for (volatile int k = 0; k < 100000; k++) {
            }
        }
        MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank != 0) MPI_Ibarrier(other, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&other);
    fprintf(stderr, "done\n");
    MPI_Finalize();
    return 0;
}
