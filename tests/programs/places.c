/* places: the same Allreduce from three lines, one of them in a function, and one from each rank's own line;
 * started, persistent and blocking. Prints the line numbers, in the order of the first calls. */
#include "report.h"

static double in = 1, out;

static __attribute__((noinline)) void exchange(void)
{
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Request request;
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < 5; i++) {
        exchange();
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (i % 2) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (world_rank == 0)
            MPI_Bcast(&in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        else
            MPI_Bcast(&in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
