/* Another tool, of the classic kind: preloaded, it wraps MPI_X, calls PMPI_X, and at Finalize every rank appends how
 * often each function was called to the file TALLY_OUTPUT.<rank>. It serves as an independent count of what a program
 * does, and to see whether the tracer lets other tools work. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS(F)                                                                                                 \
    F(Barrier, (MPI_Comm c), (c))                                                                                    \
    F(Bcast, (void *b, int n, MPI_Datatype t, int r, MPI_Comm c), (b, n, t, r, c))                                   \
    F(Gather, (const void *s, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, int r, MPI_Comm c),             \
      (s, n, t, b, m, u, r, c))                                                                                      \
    F(Gatherv, (const void *s, int n, MPI_Datatype t, void *b, const int *m, const int *d, MPI_Datatype u, int r,    \
                MPI_Comm c), (s, n, t, b, m, d, u, r, c))                                                            \
    F(Scatter, (const void *s, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, int r, MPI_Comm c),            \
      (s, n, t, b, m, u, r, c))                                                                                      \
    F(Scatterv, (const void *s, const int *n, const int *d, MPI_Datatype t, void *b, int m, MPI_Datatype u, int r,   \
                 MPI_Comm c), (s, n, d, t, b, m, u, r, c))                                                           \
    F(Allgather, (const void *s, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c),                 \
      (s, n, t, b, m, u, c))                                                                                         \
    F(Allgatherv, (const void *s, int n, MPI_Datatype t, void *b, const int *m, const int *d, MPI_Datatype u,        \
                   MPI_Comm c), (s, n, t, b, m, d, u, c))                                                            \
    F(Alltoall, (const void *s, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c),                  \
      (s, n, t, b, m, u, c))                                                                                         \
    F(Reduce, (const void *s, void *b, int n, MPI_Datatype t, MPI_Op o, int r, MPI_Comm c), (s, b, n, t, o, r, c))   \
    F(Allreduce, (const void *s, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, b, n, t, o, c))          \
    F(Scan, (const void *s, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, b, n, t, o, c))

#define WRAPPER(name, parameters, arguments)     \
    static long calls_##name;                    \
    int MPI_##name parameters                    \
    {                                            \
        calls_##name++;                          \
        return PMPI_##name arguments;            \
    }
FUNCTIONS(WRAPPER)

int MPI_Finalize(void)
{
    const char *output = getenv("TALLY_OUTPUT");
    char path[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", output ? output : "tally", rank);
    FILE *file = fopen(path, "w");
    if (file) {
#define LINE(name, parameters, arguments) \
    if (calls_##name) fprintf(file, "MPI_" #name " %ld\n", calls_##name);
        FUNCTIONS(LINE)
        fclose(file);
    }
    return PMPI_Finalize();
}
