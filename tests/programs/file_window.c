/* Files and windows call collectives inside; only the 3 Allreduces and 2 Barriers are the program's own. */
#include "report.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Win win;
    MPI_Offset size;
    int out[8], in[8], *memory;
    double mine, sum, total = 0;
    MPI_Init(&argc, &argv);
    world();
    const char *path = argc > 1 ? argv[1] : "file_window.data";
    for (int i = 0; i < 8; i++) out[i] = world_rank * 8 + i, in[i] = -1;

    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_File_set_size(file, 0);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_at_all(file, world_rank * 8, out, 8, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_File_seek(file, world_rank * 8, MPI_SEEK_SET);
    MPI_File_read_all(file, in, 8, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_write_ordered(file, out, 8, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_size(file, &size);
    MPI_File_close(&file);
    for (int i = 0; i < 8; i++) CHECK(in[i] == out[i]);

    MPI_Win_create(in, sizeof in, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(out, 8, MPI_INT, (world_rank + 1) % world_size, 0, 8, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    CHECK(in[3] == (world_rank + world_size - 1) % world_size * 8 + 3);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_free(&win);

    for (int i = 0; i < 3; i++) {
        mine = in[i];
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    report("%g", total);
    if (world_rank == 0) remove(path);
    MPI_Finalize();
    return 0;
}
