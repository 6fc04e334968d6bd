/* record_windows REPETITIONS: so many repetitions of each of thirteen operations, one after the other, for
 * benches/series/record_windows.sh. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_RANKS 64
#define LARGE 16384 /* bytes of the large operations, each to a rank */

static char from[MOST_RANKS * LARGE], to[MOST_RANKS * LARGE];

#define REPEAT(CALL)                                      \
    do {                                                  \
        MPI_Barrier(between);                             \
        for (long i = 0; i < repetitions; i++) CALL;      \
    } while (0)

int main(int argc, char **argv)
{
    long repetitions = argc > 1 ? atol(argv[1]) : 30000;
    MPI_Init(&argc, &argv);
    MPI_Comm world = MPI_COMM_WORLD, between;
    int size;
    MPI_Comm_size(world, &size);
    if (size > MOST_RANKS) {
        fprintf(stderr, "at most %d ranks\n", MOST_RANKS);
        MPI_Abort(world, 1);
    }
    /* The barriers between the operations are an operation of their own. */
    MPI_Comm_dup(world, &between);
    REPEAT(MPI_Barrier(world));
    REPEAT(MPI_Allreduce(from, to, 1, MPI_INT64_T, MPI_SUM, world));
    REPEAT(MPI_Allreduce(from, to, LARGE / 8, MPI_INT64_T, MPI_SUM, world));
    REPEAT(MPI_Bcast(from, 8, MPI_BYTE, 0, world));
    REPEAT(MPI_Bcast(from, LARGE, MPI_BYTE, 0, world));
    REPEAT(MPI_Reduce(from, to, 1, MPI_INT64_T, MPI_SUM, 0, world));
    REPEAT(MPI_Alltoall(from, 8, MPI_BYTE, to, 8, MPI_BYTE, world));
    REPEAT(MPI_Alltoall(from, LARGE, MPI_BYTE, to, LARGE, MPI_BYTE, world));
    REPEAT(MPI_Allgather(from, 8, MPI_BYTE, to, 8, MPI_BYTE, world));
    REPEAT(MPI_Gather(from, 8, MPI_BYTE, to, 8, MPI_BYTE, 0, world));
    REPEAT(MPI_Scatter(from, 8, MPI_BYTE, to, 8, MPI_BYTE, 0, world));
    REPEAT(MPI_Reduce_scatter_block(from, to, 1, MPI_INT64_T, MPI_SUM, world));
    REPEAT(MPI_Scan(from, to, 1, MPI_INT64_T, MPI_SUM, world));
    MPI_Comm_free(&between);
    MPI_Finalize();
    return 0;
}
