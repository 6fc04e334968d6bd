/* death HOW: 50 Allreduces, and then rank 1 dies while the others are in the 51st.
 *   kill    by SIGKILL, which cannot be caught
 *   segv    by a wild pointer
 *   abort   by MPI_Abort with the code 3
 *   returns by that, but all ranks go on to MPI_Finalize if it returns
 *   exit    by exit(4), without MPI_Finalize
 *   timeout by SIGALRM, while the others wait in a Barrier that it never enters */
#include "report.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "kill";
    double mine, sum;
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < 50; i++) {
        mine = world_rank + i;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    /* So late that the others have left the 50th and entered the next. */
    if (world_rank == 1) usleep(400000);
    if (world_rank == 1 && !strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (world_rank == 1 && !strcmp(how, "segv")) *(volatile int *)8 = 1;
    if (world_rank == 1 && !strcmp(how, "abort")) {
        MPI_Abort(MPI_COMM_WORLD, 3);
        /* MPICH 5's can return. */
        for (;;) pause();
    }
    /* MPICH 5's ends the job when all ranks are in MPI_Finalize. */
    if (world_rank == 1 && !strcmp(how, "returns")) MPI_Abort(MPI_COMM_WORLD, 3);
    if (world_rank == 1 && !strcmp(how, "exit")) exit(4);
    if (world_rank == 1 && !strcmp(how, "timeout")) {
        alarm(1);
        for (;;) pause();
    }
    if (!strcmp(how, "timeout")) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(how, "returns")) {
        MPI_Finalize();
        return 3;
    }
    /* Reached only by a rank whose peer's death went unnoticed: it must not end the job well. */
    sleep(30);
    return 5;
}
