/* late_init sleeps|computes: rank 1 does so for ever before it calls MPI_Init. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void sleeps(void)
{
    for (;;) pause();
}

static void computes(void)
{
    for (volatile unsigned long k = 0;; k++) {
    }
}

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (rank == NULL) rank = getenv("PMI_RANK");
    if (rank == NULL || argc < 2) return 2;
    if (atoi(rank) == 1) {
        if (strcmp(argv[1], "sleeps") == 0) sleeps();
        computes();
    }
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
