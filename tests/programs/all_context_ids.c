/* Duplicates MPI_COMM_WORLD until the library has no more communicators, or 5000 times. */
#include "report.h"

int main(int argc, char **argv)
{
    static MPI_Comm made[5000];
    int count = 0;
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (count < 5000 && MPI_Comm_dup(MPI_COMM_WORLD, &made[count]) == MPI_SUCCESS)
        count++;
    report("%d", count);
    while (count > 0)
        MPI_Comm_free(&made[--count]);
    MPI_Finalize();
    return 0;
}
