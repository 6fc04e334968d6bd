/* many_sizes COUNT: COUNT calls of MPI_Bcast on MPI_COMM_WORLD, each with another count. */
#include "report.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    CHECK(argc == 2);
    int most = atoi(argv[1]);
    char *buffer = calloc(most, 1);
    for (int i = 0; i < most; i++) MPI_Bcast(buffer, i, MPI_CHAR, 0, MPI_COMM_WORLD);
    report("%d sizes", most);
    MPI_Finalize();
    return 0;
}
