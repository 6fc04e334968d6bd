/* What the test programs share. Results travel by MPI_Send, which is no collective, and rank 0 prints them in order of
 * ranks: so the output of two runs can be compared byte by byte. */
#ifndef REPORT_H
#define REPORT_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int world_rank, world_size;

static void world(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
}

/* One line of every rank, printed by rank 0. To be called by all ranks of MPI_COMM_WORLD. */
__attribute__((unused)) static void report(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (world_rank != 0) {
        MPI_Send(line, sizeof line, MPI_CHAR, 0, 77, MPI_COMM_WORLD);
        return;
    }
    printf("rank 0: %s\n", line);
    for (int rank = 1; rank < world_size; rank++) {
        MPI_Recv(line, sizeof line, MPI_CHAR, rank, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("rank %d: %s\n", rank, line);
    }
    fflush(stdout);
}

#define CHECK(condition)                                                               \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
            MPI_Abort(MPI_COMM_WORLD, 99);                                             \
        }                                                                              \
    } while (0)

#endif
