/* late: 200 MPI_Allreduce of 4 MB, before every tenth of which rank 1 is at something else for 150 ms. Both are long
 * against what a busy machine keeps a rank from its processor. */
#include "report.h"

#include <unistd.h>

#define COUNT (1 << 19)

int main(int argc, char **argv)
{
    double *in = calloc(COUNT, sizeof *in), *out = calloc(COUNT, sizeof *out);
    MPI_Init(&argc, &argv);
    world();
    CHECK(in && out);
    in[COUNT - 1] = 1;
    for (int k = 0; k < 200; k++) {
        if (world_rank == 1 && k % 10 == 9) usleep(150000);
        MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    report("sum %g", out[COUNT - 1]);
    MPI_Finalize();
    return 0;
}
