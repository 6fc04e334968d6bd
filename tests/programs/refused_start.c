/* A persistent MPI_Allreduce, of which rank 1 has a start refused before its first: three starts on each rank. */
#include "report.h"

int main(int argc, char **argv)
{
    int own = 1, sum = 0;
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Allreduce_init(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    if (world_rank == 1) CHECK(MPI_Startall(2, requests) != MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        CHECK(MPI_Start(&requests[0]) == MPI_SUCCESS);
        CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(sum == world_size);
    }
    MPI_Request_free(&requests[0]);
    report("%d", sum);
    MPI_Finalize();
    return 0;
}
