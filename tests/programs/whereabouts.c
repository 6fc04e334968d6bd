/* whereabouts HOW: five Allreduces, and then each rank is somewhere for a while.
 *   recv       rank 0 in a receive, which rank 1 answers after 3 s
 *   wait       rank 0 in MPI_Wait for it
 *   probe      rank 0 in MPI_Probe for it
 *   barrier    rank 0 in a Barrier, which rank 1 enters after 3 s
 *   finalize   rank 0 in MPI_Finalize, which rank 1 enters after 3 s
 *   handler    rank 0 in an error handler, which pauses
 *   long       rank 0 in a Barrier, which rank 1 enters after a minute
 * With a second argument rank 1 kills itself after so many seconds. */
#include "report.h"

#include <signal.h>
#include <unistd.h>

static void pausing(MPI_Comm *comm, int *error, ...)
{
    (void) comm;
    (void) error;
    for (;;) pause();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "recv";
    int number = 0;
    double mine = 1, sum = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < 5; i++) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0) {
        if (!strcmp(how, "handler")) {
            MPI_Errhandler handler;
            MPI_Comm_create_errhandler(pausing, &handler);
            MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
            MPI_Bcast(&number, -1, MPI_INT, 0, MPI_COMM_WORLD);
        }
        if (!strcmp(how, "recv")) MPI_Recv(&number, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!strcmp(how, "probe")) MPI_Probe(1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!strcmp(how, "wait")) {
            MPI_Irecv(&number, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        if (!strcmp(how, "probe")) MPI_Recv(&number, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (world_rank == 1) {
        sleep(argc > 2 ? atoi(argv[2]) : strcmp(how, "long") ? 3 : 60);
        if (argc > 2) kill(getpid(), SIGKILL);
        number = 42;
        if (strcmp(how, "barrier") && strcmp(how, "long") && strcmp(how, "finalize"))
            MPI_Send(&number, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "barrier") || !strcmp(how, "long")) MPI_Barrier(MPI_COMM_WORLD);
    /* Where rank 0 is to wait in MPI_Finalize it does not wait for the other line. */
    if (strcmp(how, "finalize")) report("received %d", number);
    MPI_Finalize();
    return 0;
}
