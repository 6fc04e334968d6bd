/* Wrong arguments under MPI_ERRORS_RETURN: the program sees the error classes that it would see without the tracer, and
 * goes on. Every rank makes the same mistakes, so that no rank waits. No negative count in a reduction: MPICH 4 and 5
 * don't check that one, and die of it. */
#include "report.h"

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

int main(int argc, char **argv)
{
    double mine = 1, sum = 0;
    double room[16];
    int got[8];
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    got[0] = MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_NULL);
    got[1] = MPI_Bcast(&mine, -1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    got[2] = MPI_Bcast(&mine, 1, MPI_DOUBLE, 99, MPI_COMM_WORLD);
    got[3] = MPI_Bcast(&mine, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
    got[4] = MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_OP_NULL, MPI_COMM_WORLD);
    got[5] = MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD);
    got[6] = MPI_Gather(&mine, -1, MPI_DOUBLE, room, -1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    got[7] = MPI_Barrier(MPI_COMM_NULL);
    for (int i = 0; i < 8; i++) got[i] = class_of(got[i]);
    for (int i = 0; i < 5; i++) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    report("%d %d %d %d %d %d %d %d, and then %g", got[0], got[1], got[2], got[3], got[4], got[5], got[6], got[7], sum);
    MPI_Finalize();
    return 0;
}
