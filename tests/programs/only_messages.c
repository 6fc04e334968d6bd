/* only_messages BARRIERS: so many barriers, and behind them 100 messages of 4096 bytes from each rank to the other. */
#include "report.h"

int main(int argc, char **argv)
{
    static char sent[4096], received[4096];
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < atoi(argv[1]); i++) MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 100; i++)
        MPI_Sendrecv(sent, sizeof sent, MPI_CHAR, 1 - world_rank, 0, received, sizeof received, MPI_CHAR,
                     1 - world_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
