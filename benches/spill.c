/* spill CALLS: so many Allreduces of 8 bytes on each rank, on MPI_COMM_SELF; every tenth is a Barrier. Rank 0 prints the
 * seconds of the loop, the resident memory behind it and the most that there was up to the end of MPI_Finalize, KiB. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long status(const char *name)
{
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name))) value = strtol(line + strlen(name) + 1, NULL, 10);
    if (file) fclose(file);
    return value;
}

int main(int argc, char **argv)
{
    long calls = argc > 1 ? atol(argv[1]) : 1000;
    double in = 1, out;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long i = 0; i < calls; i++) {
        if (i % 10 == 9) MPI_Barrier(MPI_COMM_SELF);
        else MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    }
    double seconds = MPI_Wtime() - start;
    long resident = status("VmRSS");
    MPI_Finalize();
    if (rank == 0) printf("%f %ld %ld\n", seconds, resident, status("VmHWM"));
    return 0;
}
