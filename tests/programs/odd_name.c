/* A communicator whose name has spaces, a newline, a tab, quotes and bytes that are no UTF-8. */
#include "report.h"

int main(int argc, char **argv)
{
    MPI_Comm comm;
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, " a \n\"b\"\t'c' \xff\xfe\x80 ");
    for (int i = 0; i < 3; i++) MPI_Barrier(comm);
    MPI_Comm_get_name(comm, name, &length);
    report("%d bytes, last but one %d", length, length > 1 ? (unsigned char)name[length - 2] : -1);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
