/* Calls of every kind that a thread has made lately; how often memory was asked for on their way goes to stderr, where
 * count_mallocs.c is preloaded: "first N again N", N of the first round and of 500 more. */
#include "report.h"

unsigned long mpitrace_mallocs(void) __attribute__((weak));

static unsigned long mallocs(void)
{
    return mpitrace_mallocs ? mpitrace_mallocs() : 0;
}

static double a_round(MPI_Comm comm, MPI_Datatype pair, int requests)
{
    double in[4] = {1, 2, 3, world_rank}, out[8];
    int counts[64], displacements[64];
    MPI_Request request;
    for (int i = 0; i < world_size; i++) counts[i] = 1, displacements[i] = i;
    MPI_Barrier(comm);
    MPI_Bcast(in, 2, pair, 0, comm);
    MPI_Allreduce(in, out, 4, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Reduce(in, out, 4, MPI_DOUBLE, MPI_SUM, 0, comm);
    MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm);
    MPI_Allgatherv(in, 1, MPI_DOUBLE, out, counts, displacements, MPI_DOUBLE, comm);
    MPI_Alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm);
    MPI_Scan(in, out, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (requests) {
        MPI_Iallreduce(in, out, 4, MPI_DOUBLE, MPI_SUM, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Ibarrier(comm, &request);
        for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    return out[0];
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Datatype pair;
    double total = 0;
    int requests = argc > 1;
    MPI_Init(&argc, &argv);
    world();
    CHECK(world_size <= 8);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    unsigned long start = mallocs();
    total += a_round(comm, pair, requests);
    unsigned long first = mallocs();
    for (int i = 0; i < 500; i++) total += a_round(comm, pair, requests);
    unsigned long again = mallocs();
    if (world_rank == 0) fprintf(stderr, "start %lu first %lu again %lu\n", start, first - start, again - first);
    MPI_Type_free(&pair);
    MPI_Comm_free(&comm);
    report("%g", total);
    MPI_Finalize();
    return 0;
}
