/* Each collective call of MPI 3.1 that makes, changes or frees a communicator, a window or a file, or reads and writes one,
 * with a count of its own on each handle. For four ranks; the argument is the name of a file to be made. */
#include "report.h"

#define BLOCK 8

static int block[BLOCK], got[BLOCK];
static long checksum;
static MPI_Info hints;

static void expect(int from)
{
    for (int i = 0; i < BLOCK; i++) {
        CHECK(got[i] == from * BLOCK + i);
        checksum += got[i], got[i] = -1;
    }
}

static void communicators(void)
{
    MPI_Comm dup, later, half, node, grid, row, graph, adjacent, distributed, even, group, inter, merged;
    MPI_Group everyone, evens, uppers;
    MPI_Request request;
    int right = (world_rank + 1) % 4, left = (world_rank + 3) % 4, one = 1, is_upper = world_rank > 1;

    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_name(dup, "dup");
    MPI_Comm_set_info(dup, hints);
    MPI_Comm_dup_with_info(dup, hints, &later);
    MPI_Comm_free(&later);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_idup(dup, &later, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_free(&later);
    }
    MPI_Comm_split(dup, is_upper, world_rank, &half);
    MPI_Comm_set_name(half, is_upper ? "upper" : "lower");
    MPI_Comm_split_type(dup, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_disconnect(&node);

    MPI_Cart_create(dup, 2, (int[]){2, 2}, (int[]){0, 0}, 0, &grid);
    MPI_Comm_set_name(grid, "grid");
    MPI_Cart_sub(grid, (int[]){0, 1}, &row);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);
    MPI_Graph_create(dup, 4, (int[]){1, 2, 3, 4}, (int[]){1, 0, 3, 2}, 0, &graph);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(dup, 1, &left, &one, 1, &right, &one, MPI_INFO_NULL, 0, &adjacent);
    MPI_Comm_free(&adjacent);
    MPI_Dist_graph_create(dup, 1, &world_rank, &one, &right, &one, MPI_INFO_NULL, 0, &distributed);
    MPI_Comm_free(&distributed);

    MPI_Comm_group(dup, &everyone);
    MPI_Group_incl(everyone, 2, (int[]){0, 2}, &evens);
    MPI_Comm_create(dup, evens, &even);
    if (even != MPI_COMM_NULL) MPI_Comm_free(&even);
    /* Ranks 2 and 3 alone, three times: the others go on to their next call. */
    MPI_Group_incl(everyone, 2, (int[]){3, 2}, &uppers);
    for (int i = 0; is_upper && i < 3; i++) {
        MPI_Comm_create_group(dup, uppers, 7, &group);
        MPI_Comm_set_name(group, "group");
        MPI_Barrier(group);
        MPI_Comm_free(&group);
    }
    MPI_Group_free(&uppers), MPI_Group_free(&evens), MPI_Group_free(&everyone);

    MPI_Intercomm_create(half, 0, dup, is_upper ? 0 : 2, 5, &inter);
    MPI_Comm_set_name(inter, "inter");
    MPI_Intercomm_merge(inter, is_upper, &merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup);
}

static void windows(void)
{
    MPI_Win win, other;
    int *memory;
    MPI_Win_create(got, sizeof got, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(block, BLOCK, MPI_INT, (world_rank + 1) % 4, 0, BLOCK, MPI_INT, win);
    MPI_Win_fence(0, win);
    /* A call on the communicator and one on a window stand in no order: ranks may differ. */
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    MPI_Win_set_name(other, "dynamic");
    MPI_Win_fence(0, win);
    MPI_Win_free(&other);
    MPI_Win_free(&win);
    expect((world_rank + 3) % 4);
    MPI_Win_allocate((world_rank + 1) * (int)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_name(win, "allocated");
    MPI_Win_set_info(win, hints);
    MPI_Win_free(&win);
    MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_name(win, "shared");
    MPI_Win_free(&win);
}

static void files(char *name)
{
    MPI_File file;
    MPI_Request request;
    MPI_Offset at = world_rank * BLOCK;
    MPI_Status status;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_File_set_size(file, 1024);
    MPI_File_preallocate(file, 2048);
    MPI_File_set_info(file, hints);
    MPI_File_set_atomicity(file, 0);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_at_all(file, at, block, BLOCK, MPI_INT, &status);
    MPI_File_sync(file);
    MPI_File_read_at_all(file, at, got, BLOCK, MPI_INT, &status);
    expect(world_rank);
    MPI_File_write_at_all_begin(file, at, block, BLOCK, MPI_INT);
    MPI_File_write_at_all_end(file, block, &status);
    MPI_File_read_at_all_begin(file, at, got, BLOCK, MPI_INT);
    MPI_File_read_at_all_end(file, got, &status);
    expect(world_rank);
    /* Each rank writes another amount. */
    MPI_File_seek(file, at, MPI_SEEK_SET);
    MPI_File_write_all(file, block, 1 + world_rank, MPI_INT, &status);
    for (int i = 0; i < 2; i++) {
        MPI_File_seek(file, at, MPI_SEEK_SET);
        MPI_File_read_all(file, got, BLOCK, MPI_INT, &status);
        expect(world_rank);
    }
    MPI_File_seek(file, at, MPI_SEEK_SET);
    MPI_File_write_all_begin(file, block, BLOCK, MPI_INT);
    MPI_File_write_all_end(file, block, &status);
    MPI_File_seek(file, at, MPI_SEEK_SET);
    MPI_File_read_all_begin(file, got, BLOCK, MPI_INT);
    MPI_File_read_all_end(file, got, &status);
    expect(world_rank);
    MPI_File_iwrite_at_all(file, at, block, BLOCK, MPI_INT, &request);
    MPI_Wait(&request, &status);
    MPI_File_iread_at_all(file, at, got, BLOCK, MPI_INT, &request);
    MPI_Wait(&request, &status);
    expect(world_rank);
    MPI_File_seek(file, at, MPI_SEEK_SET);
    MPI_File_iwrite_all(file, block, BLOCK, MPI_INT, &request);
    MPI_Wait(&request, &status);
    MPI_File_seek(file, at, MPI_SEEK_SET);
    MPI_File_iread_all(file, got, BLOCK, MPI_INT, &request);
    MPI_Wait(&request, &status);
    expect(world_rank);
    /* Of this rank alone: not recorded. */
    MPI_File_read_at(file, at, got, BLOCK, MPI_INT, &status);
    expect(world_rank);
    MPI_File_close(&file);

    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_write_ordered(file, block, BLOCK, MPI_INT, &status);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read_ordered(file, got, BLOCK, MPI_INT, &status);
    expect(world_rank);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_write_ordered_begin(file, block, BLOCK, MPI_INT);
    MPI_File_write_ordered_end(file, block, &status);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_read_ordered_begin(file, got, BLOCK, MPI_INT);
    MPI_File_read_ordered_end(file, got, &status);
    expect(world_rank);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    /* Open MPI 4.1's usual way to write what four ranks have in common (fcoll vulcan) fails by itself. */
    setenv("OMPI_MCA_fcoll", "individual", 1);
    MPI_Init(&argc, &argv);
    world();
    CHECK(world_size == 4 && argc > 1);
    for (int i = 0; i < BLOCK; i++) block[i] = world_rank * BLOCK + i, got[i] = -1;
    MPI_Info_create(&hints);
    communicators();
    windows();
    files(argv[1]);
    MPI_Info_free(&hints);
    MPI_Barrier(MPI_COMM_WORLD);
    report("%ld", checksum);
    if (world_rank == 0) remove(argv[1]);
    MPI_Finalize();
    return 0;
}
