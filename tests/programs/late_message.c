/* Ten barriers. Before each, rank 1 waits for a message of rank 0, which sleeps first, and then copies a long one by a message
 * to itself, so that it is the last at the barrier; rank 2 calls nothing else. */
#include "report.h"
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    enum { LONG = 8 << 20 };
    int token = 0;
    char *from = calloc(LONG, 1), *to = calloc(LONG, 1);
    MPI_Init(&argc, &argv);
    world();
    CHECK(world_size == 3);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++) {
        if (world_rank == 0) {
            usleep(10000);
            MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        } else if (world_rank == 1) {
            MPI_Recv(&token, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Sendrecv(from, LONG, MPI_CHAR, 0, 0, to, LONG, MPI_CHAR, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    report("%d", token);
    free(from);
    free(to);
    MPI_Finalize();
    return 0;
}
