/* An application whose repetition is not one MPI call: some messages through a library below it, then a reduction. */
#include "inner_steps.h"
#include "mpitrace.h"

#include <mpi.h>

int main(int argc, char **argv)
{
    double in = 1, out;
    MPI_Init(&argc, &argv);
    transport_open();
    int step = mpitrace_region("step");
    for (int k = 0; k < 200; k++) {
        MPI_Barrier(MPI_COMM_WORLD);
        mpitrace_region_begin(step);
        transport_send(4);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        mpitrace_region_end(step);
    }
    MPI_Finalize();
    return 0;
}
