/* many_sizes COUNT: COUNT calls of MPI_Allgatherv on MPI_COMM_WORLD, each with another sum of counts. */
#include "report.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    int most = argc > 1 ? atoi(argv[1]) : 1;
    int *counts = calloc(world_size, sizeof *counts), *offsets = calloc(world_size, sizeof *offsets);
    char *all = calloc(most, 1), *own = calloc(most, 1);
    for (int i = 0; i < most; i++) {
        counts[0] = i;
        MPI_Allgatherv(own, counts[world_rank], MPI_CHAR, all, counts, offsets, MPI_CHAR, MPI_COMM_WORLD);
    }
    report("%d sizes", most);
    MPI_Finalize();
    return 0;
}
