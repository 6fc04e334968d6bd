/* endless FOLDER: 50 Allreduces, then a file FOLDER/ready.RANK, then rank 1 waits for ever and the others wait for it in
 * the 51st. SIGTERM does not end the ranks with odd numbers. */
#include "report.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char path[4096];
    double mine, sum;
    MPI_Init(&argc, &argv);
    world();
    if (world_rank % 2) signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < 50; i++) {
        mine = world_rank + i;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    snprintf(path, sizeof path, "%s/ready.%d", argc > 1 ? argv[1] : ".", world_rank);
    FILE *ready = fopen(path, "w");
    CHECK(ready != NULL);
    fclose(ready);
    for (;;) {
        if (world_rank == 1) pause();
        else MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}
