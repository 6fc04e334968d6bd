/* What the gallery shows: Allreduces of 1000 bytes, before each a few messages to the neighbour, now and then many; and Bcasts. */
#include <mpi.h>
#include <stdio.h>

enum { REPETITIONS = 5000, COUNT = 125, MANY = 1 << 15 };

int main(int argc, char **argv)
{
    static double in[COUNT], out[COUNT];
    static char sent[MANY], got[MANY], block[4096];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    for (int i = 0; i < REPETITIONS; i++) {
        int messages = i % 50 == 49 ? 20 : i % 3;
        int bytes = i % 50 == 49 ? MANY : 64;
        for (int k = 0; k < messages; k++)
            MPI_Sendrecv(sent, bytes, MPI_CHAR, right, 0, got, bytes, MPI_CHAR, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 1000; i++) MPI_Bcast(block, sizeof block, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
