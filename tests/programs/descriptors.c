/* descriptors WHEN FILE: closes every descriptor from WHEN on: "before" MPI_Init, "after" it, or "never". What it
 * computed, and which descriptors it got for files that it opened, goes to FILE: nothing else that it could write to is
 * sure to be open. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void close_all(void)
{
    for (int file = 3; file < 65536; file++) close(file);
}

int main(int argc, char **argv)
{
    char path[4096], text[256];
    int rank, value, sum, total = 0;
    if (argc < 3) return 2;
    if (!strcmp(argv[1], "before")) close_all();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(argv[1], "after")) close_all();
    /* More than a chunk of records holds, so that memory is taken for further ones. */
    for (int i = 0; i < 30000; i++) {
        value = i;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        total += sum;
    }
    for (int i = 0; i < 100; i++) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s.%d", argv[2], rank);
    int first = open("/dev/null", O_RDONLY), second = open("/dev/null", O_RDONLY);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int length = snprintf(text, sizeof text, "total %d, sum %d, descriptors %d %d\n", total, sum, first, second);
    if (file < 0 || write(file, text, length) != length || close(file)) return 3;
    MPI_Finalize();
    return 0;
}
