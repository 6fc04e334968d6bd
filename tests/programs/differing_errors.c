/* differing_errors SECONDS: errors are returned, and one MPI_Bcast gives room for too few elements on rank 1, so that it fails
 * there alone. Then an MPI_Allreduce each millisecond for so long, as rank 0's clock has it. */
#include "report.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    static double many[1000];
    double seconds = argc > 1 ? atof(argv[1]) : 1, in = 1, out;
    int more = 1, result;
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    result = MPI_Bcast(many, world_rank == 1 ? 10 : 1000, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (world_rank == 1) printf("MPI_Bcast %s\n", result == MPI_SUCCESS ? "succeeded" : "failed");
    for (double start = MPI_Wtime(); more;) {
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        usleep(1000);
        more = MPI_Wtime() - start < seconds;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
