/* Messages that have not been received when MPI_Finalize is called. The argument says which:
 *   never     rank 0 sends one that rank 1 never receives
 *   late      rank 0 starts a large one and gives its request up; rank 1 receives it much later, before its own
 *             MPI_Finalize: a correct program, for which the library has to work on messages within MPI_Finalize
 *   barrier   as never, with a barrier, in which MPICH 5 sees the message: MPI_Finalize ends the program */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS (1 << 20)

int main(int argc, char **argv)
{
    int rank;
    int *words = calloc(WORDS, sizeof *words);
    int late = argc > 1 && !strcmp(argv[1], "late");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && late) {
        MPI_Request request;
        words[WORDS - 1] = 7;
        MPI_Isend(words, WORDS, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    } else if (rank == 0) {
        MPI_Send(words, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1 && late) {
        usleep(300000);
        MPI_Recv(words, WORDS, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("received %d\n", words[WORDS - 1]);
        fflush(stdout);
    }
    if (argc > 1 && !strcmp(argv[1], "barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 1)
        printf("after MPI_Finalize\n");
    return 0;
}
