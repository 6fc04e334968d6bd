/* long_run FILE: three calls of each kind that are not recorded, then a pause in which a test sets the ranks' counters to what a long run has:
 * rank 0 makes FILE.ready and goes on when FILE.go is there; then 20 more of each kind. */
#include "report.h"

#include <unistd.h>

static long calls(MPI_Comm comm, int times)
{
    long total = 0;
    for (int i = 0; i < times; i++) {
        int mine = world_rank + i, sum;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
        MPI_Bcast(&sum, 1, MPI_INT, 0, comm);
        MPI_Barrier(comm);
    }
    return total;
}

int main(int argc, char **argv)
{
    char path[4096];
    char token = 0;
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    world();
    CHECK(argc == 2);
    MPI_Pcontrol(0);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    long total = calls(comm, 3);
    /* By messages, which are no collective calls. */
    if (world_rank == 0) {
        for (int rank = 1; rank < world_size; rank++)
            MPI_Recv(&token, 1, MPI_CHAR, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        snprintf(path, sizeof path, "%s.ready", argv[1]);
        FILE *file = fopen(path, "w");
        CHECK(file && fclose(file) == 0);
        snprintf(path, sizeof path, "%s.go", argv[1]);
        while (access(path, F_OK)) usleep(1000);
        for (int rank = 1; rank < world_size; rank++) MPI_Send(&token, 1, MPI_CHAR, rank, 2, MPI_COMM_WORLD);
    } else {
        MPI_Send(&token, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Pcontrol(1);
    total += calls(comm, 20);
    report("%ld", total);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
