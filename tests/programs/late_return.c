/* A tool to be preloaded below the tracer: on rank 1 the calls of MPI_Allreduce from the 14th to the 18th return late,
 * so that a meeting of the ranks after one of them is missed. */
#include <mpi.h>
#include <unistd.h>

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    static int calls;
    int result = PMPI_Allreduce(in, out, n, type, op, comm), rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (++calls >= 14 && calls <= 18 && rank == 1) usleep(900000);
    return result;
}
