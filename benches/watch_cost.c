/* So many seconds of MPI_Allreduce, with some 20 us of computing before each. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1, in = 1, out;
    int more = 1;
    MPI_Init(&argc, &argv);
    for (double start = MPI_Wtime(); more;) {
        for (int k = 0; k < 1000; k++) {
            for (double until = MPI_Wtime() + 2e-5; MPI_Wtime() < until;) {
            }
            MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        more = MPI_Wtime() - start < seconds;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
