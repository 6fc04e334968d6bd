/* Ten barriers. Before each, rank 1 waits for a message of rank 0, which sleeps first; rank 2 calls nothing else. */
#include "report.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    int token = 0;
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
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    report("%d", token);
    MPI_Finalize();
    return 0;
}
