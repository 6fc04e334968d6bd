/* Allreduces of 1000 bytes, 600 repetitions: before each i % 4 messages to the neighbour, and before every 60th rank 1
 * sleeps, so that rank 0 waits in the call. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    double in[125] = {0}, out[125];
    char sent[64] = {0}, got[64];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 600; i++) {
        for (int k = 0; k < i % 4; k++)
            MPI_Sendrecv(sent, sizeof sent, MPI_CHAR, (rank + 1) % ranks, 0, got, sizeof got, MPI_CHAR,
                         (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1 && i % 60 == 59) usleep(20000);
        MPI_Allreduce(in, out, 125, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
