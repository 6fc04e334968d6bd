/* MPI_Pcontrol with words behind the level, for a tool that is below: the regions of IPM are of this kind. */
#include "report.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    MPI_Pcontrol(1, "region", 42, (void *)0x1234, 5L);
    MPI_Barrier(MPI_COMM_WORLD);
    report("done");
    MPI_Finalize();
    return 0;
}
