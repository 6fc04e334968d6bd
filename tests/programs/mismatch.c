/* mismatch: calls that do not belong together, though the program ends: each rank's call of MPI_Allreduce has another
 * reduction operator, every tenth of 50. */
#include "report.h"

int main(int argc, char **argv)
{
    int in = 1, out = 0;
    MPI_Init(&argc, &argv);
    world();
    for (int k = 0; k < 50; k++) {
        MPI_Op operator = k % 10 == 9 && world_rank == 1 ? MPI_MAX : MPI_SUM;
        MPI_Allreduce(&in, &out, 1, MPI_INT, operator, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    report("done");
    MPI_Finalize();
    return 0;
}
