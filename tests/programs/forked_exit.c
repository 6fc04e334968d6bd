/* Each rank forks a child off, which leaves by exit; a handler of exit calls MPI_Finalize, as mpi4py's does. The ranks go
 * on, and die: MPI_Finalize in the child has closed their connection to the launcher. */
#include "report.h"

#include <sys/wait.h>
#include <unistd.h>

static void finalize(void)
{
    int finalized;
    MPI_Finalized(&finalized);
    if (!finalized) MPI_Finalize();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    atexit(finalize);
    world();
    for (int i = 0; i < 20; i++) MPI_Barrier(MPI_COMM_WORLD);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) exit(0);
    int status = -1;
    waitpid(child, &status, 0);
    for (int i = 0; i < 20; i++) MPI_Barrier(MPI_COMM_WORLD);
    report("status of the child %#x", status);
    /* Rank 0 prints the lines of all: none aborts before. */
    if (world_rank != 0) MPI_Recv(&status, 1, MPI_INT, 0, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int rank = 1; world_rank == 0 && rank < world_size; rank++)
        MPI_Send(&status, 1, MPI_INT, rank, 78, MPI_COMM_WORLD);
    MPI_Abort(MPI_COMM_WORLD, 5);
    return 0;
}
