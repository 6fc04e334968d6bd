/* fills CALLS RANK: so many Allreduces on MPI_COMM_SELF, which wait for no other rank: on rank RANK, or on all if it is
 * -1. Then one on MPI_COMM_WORLD. */
#include "report.h"

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 1000, rank = argc > 2 ? atoi(argv[2]) : -1;
    double in, out = 0, sum = 0;
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < calls && (rank < 0 || rank == world_rank); i++) {
        in = i;
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        sum += out;
    }
    MPI_Allreduce(&sum, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    report("%.17g %.17g", sum, out);
    MPI_Finalize();
    return 0;
}
