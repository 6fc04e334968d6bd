/* Three calls of MPI_Ibarrier on MPI_COMM_SELF, one after the other, each of which is complete when it has started. */
#include "report.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < 3; i++) {
        MPI_Request request;
        MPI_Ibarrier(MPI_COMM_SELF, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    report("done");
    MPI_Finalize();
    return 0;
}
