/* A library that needs MPI, so that a handle of it finds all of MPI; and the constants of mpi.h. */
#include <mpi.h>

void *constant(char name)
{
    switch (name) {
    case 'w': return (void *)(long)MPI_COMM_WORLD;
    case 'i': return (void *)(long)MPI_INT;
    default: return (void *)(long)MPI_SUM;
    }
}

/* Never called: the library of MPI is needed. */
int needs(void) { return MPI_Barrier(MPI_COMM_WORLD); }
