/* ticking SECONDS [STEP]: an Allreduce every millisecond for so long, as rank 0's clock has it. With "pause" recording is paused
 * on rank 1 all the while; with "kill" rank 1 ends without a word after half of the time. Prints nothing: how many calls there
 * are depends on the machine. */
#include "report.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1, in = 1, out;
    const char *what = argc > 2 ? argv[2] : "";
    int more = 1;
    MPI_Init(&argc, &argv);
    world();
    if (world_rank == 1 && !strcmp(what, "pause")) MPI_Pcontrol(0);
    for (double start = MPI_Wtime(); more;) {
        double passed = MPI_Wtime() - start;
        if (world_rank == 1 && !strcmp(what, "kill") && passed > seconds / 2) _exit(0);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        usleep(1000);
        more = passed < seconds;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
