/* daemon FILE: becomes a daemon before it meets MPI: forks twice, in a session of its own, in the root folder, with no
 * descriptor of its parent's; what it computed appears as FILE. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char unfinished[4096];
    double value = 1.5, sum = 0;
    if (argc < 2) return 2;
    if (fork() != 0) _exit(0);
    setsid();
    if (fork() != 0) _exit(0);
    if (chdir("/") != 0) return 3;
    for (int file = 0; file < 1024; file++) close(file);
    if (open("/dev/null", O_RDWR) != 0 || dup(0) != 1 || dup(0) != 2) return 4;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 100; i++) {
        double one;
        MPI_Allreduce(&value, &one, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum += one;
    }
    MPI_Finalize();
    snprintf(unfinished, sizeof unfinished, "%s.unfinished", argv[1]);
    FILE *file = fopen(unfinished, "w");
    if (!file) return 5;
    fprintf(file, "sum %g\n", sum);
    fclose(file);
    return rename(unfinished, argv[1]);
}
