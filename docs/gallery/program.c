/* What the gallery shows: Allreduces of 1000 bytes. Before each of the first 300, and later before each 50th, come large messages to
 * the neighbour, which sweep the caches; before others none to two small ones. */
#include <mpi.h>

enum { REPETITIONS = 5000, FIRST = 300, EVERY = 50, COUNT = 125, LARGE = 1 << 18 };

int main(int argc, char **argv)
{
    static double in[COUNT], out[COUNT];
    static char sent[LARGE], got[LARGE];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    for (int i = 0; i < REPETITIONS; i++) {
        int large = i < FIRST || i % EVERY == EVERY - 1;
        for (int k = 0; k < (large ? 8 : i % 3); k++)
            MPI_Sendrecv(sent, large ? LARGE : 64, MPI_CHAR, right, 0, got, LARGE, MPI_CHAR, left, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
