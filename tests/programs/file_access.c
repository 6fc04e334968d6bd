/* Collective file access that is begun and waited for, by Wait and by Test: the collectives that the library makes for it
 * are not the program's. */
#include "report.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Request request;
    MPI_Datatype every;
    int values[64], done;
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < 64; i++) values[i] = world_rank;
    MPI_Type_vector(64, 1, 2, MPI_INT, &every);
    MPI_Type_commit(&every);
    MPI_File_open(MPI_COMM_WORLD, "accessed", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, world_rank * (int)sizeof(int), MPI_INT, every, "native", MPI_INFO_NULL);
    for (int i = 0; i < 3; i++) {
        MPI_File_iwrite_all(file, values, 64, MPI_INT, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_File_iwrite_all(file, values, 64, MPI_INT, &request);
        for (done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&every);
    report("done");
    MPI_Finalize();
    return 0;
}
