/* ticking CALLS [WHAT]: so many MPI_Allreduce, a millisecond or more apart on each rank. With "pause" recording is
 * paused on rank 1 all the while; with "kill" rank 1 ends without a word before the call in the middle; with "region" all
 * calls are in one region of the program. Prints nothing. */
#include "mpitrace.h"
#include "report.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 1000;
    const char *what = argc > 2 ? argv[2] : "";
    double in = 1, out;
    MPI_Init(&argc, &argv);
    world();
    if (world_rank == 1 && !strcmp(what, "pause")) MPI_Pcontrol(0);
    int region = strcmp(what, "region") ? -1 : mpitrace_region("all");
    mpitrace_region_begin(region);
    for (int k = 0; k < calls; k++) {
        if (world_rank == 1 && !strcmp(what, "kill") && k == calls / 2) _exit(0);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        usleep(1000);
    }
    mpitrace_region_end(region);
    MPI_Finalize();
    return 0;
}
