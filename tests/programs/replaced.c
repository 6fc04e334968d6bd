/* replaced PROGRAM: after MPI_Finalize the process becomes another program. */
#include "report.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < 5; i++) MPI_Barrier(MPI_COMM_WORLD);
    report("done");
    MPI_Finalize();
    CHECK(argc > 1);
    execl(argv[1], argv[1], (char *)NULL);
    return 99;
}
