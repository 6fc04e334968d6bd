/* 20 Allreduces, 10 Bcasts and 3 Barriers on the world, and the same on a communicator made by a split: by even and odd
 * ranks where there are four or more, else all ranks in one. */
#include "report.h"

static double collectives(MPI_Comm comm, int root)
{
    double sum = 0, in[8], out[8];
    int token[4], rank;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 8; j++) in[j] = world_rank + i * j;
        MPI_Allreduce(in, out, 8, MPI_DOUBLE, MPI_SUM, comm);
        sum += out[i % 8];
    }
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < 4; j++) token[j] = rank == root ? i + j : -1;
        MPI_Bcast(token, 4, MPI_INT, root, comm);
        sum += token[3];
    }
    for (int i = 0; i < 3; i++) MPI_Barrier(comm);
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    world();
    double on_world = collectives(MPI_COMM_WORLD, 1);
    MPI_Comm_split(MPI_COMM_WORLD, world_size >= 4 ? world_rank % 2 : 0, world_rank, &half);
    double on_half = collectives(half, 0);
    report("%.17g %.17g", on_world, on_half);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
