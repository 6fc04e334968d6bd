/* many_requests N: N times an Iallreduce of one double on the world, which is tested for once and then waited for, and a
 * start of a persistent Allreduce. */
#include "report.h"

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 10, flag;
    double mine = 0, sum, again, total = 0;
    MPI_Request request, persistent;
    MPI_Init(&argc, &argv);
    world();
    CHECK(MPI_Allreduce_init(&mine, &again, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent) == 0);
    for (int i = 0; i < n; i++) {
        mine = world_rank + i;
        MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Start(&persistent);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
        total += sum + again;
    }
    MPI_Request_free(&persistent);
    report("%.17g", total);
    MPI_Finalize();
    return 0;
}
