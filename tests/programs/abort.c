/* abort COMMUNICATOR CODE: ten Allreduces, and then rank 1 calls MPI_Abort with this code on the communicator world,
 * self or part, which is a part of the world that rank 0 is not in. With `error` in place of a communicator it makes a
 * mistake, which MPI_ERRORS_ARE_FATAL. */
#include "report.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    const char *where = argc > 1 ? argv[1] : "world";
    int code = argc > 2 ? atoi(argv[2]) : 1, one = 1, sum;
    MPI_Comm part;
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_split(MPI_COMM_WORLD, world_rank > 0, 0, &part);
    for (int i = 0; i < 10; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 1) {
        /* So late that the others are in the eleventh. */
        usleep(200000);
        if (!strcmp(where, "error")) MPI_Bcast(&one, -1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Abort(!strcmp(where, "self") ? MPI_COMM_SELF : !strcmp(where, "part") ? part : MPI_COMM_WORLD, code);
        /* MPICH 5's can return. */
        _exit(code);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return 0;
}
