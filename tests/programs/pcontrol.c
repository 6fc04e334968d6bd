/* Ten calls recorded, ten while recording is paused, ten recorded; a level that means nothing in between. */
#include "report.h"

static double ten(void)
{
    double mine = world_rank, sum = 0;
    for (int i = 0; i < 10; i++) {
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        mine += sum;
    }
    return mine;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    double total = ten();
    MPI_Pcontrol(0);
    total += ten();
    MPI_Pcontrol(17);
    MPI_Pcontrol(1);
    total += ten();
    report("%.17g", total);
    MPI_Finalize();
    return 0;
}
