/* variables: Allreduce on several communicators, one of which takes the place of one that was freed; and a Barrier, in
 * which nothing moves the variables of mock_mpi_t.c. */
#include "report.h"

static void repeat(int times, int count, MPI_Comm comm)
{
    double in[64] = {0}, out[64];
    for (int k = 0; k < times; k++) MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
}

int main(int argc, char **argv)
{
    MPI_Comm duplicate, half;
    MPI_Init(&argc, &argv);
    world();
    repeat(5, 2, MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    repeat(4, 4, duplicate);
    MPI_Barrier(duplicate);
    MPI_Comm_free(&duplicate);
    for (int k = 0; k < 3; k++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
        repeat(2, 8, duplicate);
        MPI_Comm_free(&duplicate);
    }
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &half);
    repeat(3, 16, half);
    MPI_Comm_free(&half);
    repeat(1, 2, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
