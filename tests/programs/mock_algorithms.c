/* An MPI_Allreduce whose algorithms are functions with Open MPI's names, preloaded behind the tracer: a ring that calls
 * recursive doubling. They are reached by their symbols, as in a library that is linked in the plain way, unless
 * OF_ALGORITHMS says otherwise. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

#ifndef OF_ALGORITHMS
#define OF_ALGORITHMS
#endif

OF_ALGORITHMS int ompi_coll_base_allreduce_intra_ring(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
OF_ALGORITHMS int ompi_coll_base_allreduce_intra_recursivedoubling(const void *, void *, int, MPI_Datatype, MPI_Op,
                                                                   MPI_Comm);

__attribute__((noinline)) int ompi_coll_base_allreduce_intra_recursivedoubling(const void *in, void *out, int count,
                                                                               MPI_Datatype type, MPI_Op op,
                                                                               MPI_Comm comm) {
    int (*next)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Allreduce");
    return next(in, out, count, type, op, comm);
}

__attribute__((noinline)) int ompi_coll_base_allreduce_intra_ring(const void *in, void *out, int count,
                                                                  MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int error = ompi_coll_base_allreduce_intra_recursivedoubling(in, out, count, type, op, comm);
    return error ? error : 0;
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int error = ompi_coll_base_allreduce_intra_ring(in, out, count, type, op, comm);
    return error ? error : 0;
}

/* By it the tracer knows an MPI library. */
int PMPI_Init(int *argc, char ***argv) {
    int (*next)(int *, char ***);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Init");
    return next(argc, argv);
}
