/* Counts the calls of each MPI function that the program itself makes: those within another call, of the library or of a
 * callback, are not counted. Preloaded in front of the tracer, it counts what the tracer has to record, and it knows
 * nothing but the names of functions: each wrapper hands on as many words as any of them takes. In MPI_Finalize the counts
 * go to COUNTS_OUTPUT.PID, a name and a number in each line. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* All collective functions that Open MPI 4 has, in C and in Fortran. */
#define NAMES(F) \
    F(Barrier, barrier) F(Ibarrier, ibarrier) F(Bcast, bcast) F(Ibcast, ibcast) F(Gather, gather)               \
    F(Igather, igather) F(Gatherv, gatherv) F(Igatherv, igatherv) F(Scatter, scatter) F(Iscatter, iscatter)     \
    F(Scatterv, scatterv) F(Iscatterv, iscatterv) F(Allgather, allgather) F(Iallgather, iallgather)             \
    F(Allgatherv, allgatherv) F(Iallgatherv, iallgatherv) F(Alltoall, alltoall) F(Ialltoall, ialltoall)         \
    F(Alltoallv, alltoallv) F(Ialltoallv, ialltoallv) F(Alltoallw, alltoallw) F(Ialltoallw, ialltoallw)         \
    F(Reduce, reduce) F(Ireduce, ireduce) F(Allreduce, allreduce) F(Iallreduce, iallreduce)                     \
    F(Reduce_scatter_block, reduce_scatter_block) F(Ireduce_scatter_block, ireduce_scatter_block)               \
    F(Reduce_scatter, reduce_scatter) F(Ireduce_scatter, ireduce_scatter) F(Scan, scan) F(Iscan, iscan)         \
    F(Exscan, exscan) F(Iexscan, iexscan) F(Neighbor_allgather, neighbor_allgather)                             \
    F(Ineighbor_allgather, ineighbor_allgather) F(Neighbor_allgatherv, neighbor_allgatherv)                     \
    F(Ineighbor_allgatherv, ineighbor_allgatherv) F(Neighbor_alltoall, neighbor_alltoall)                       \
    F(Ineighbor_alltoall, ineighbor_alltoall) F(Neighbor_alltoallv, neighbor_alltoallv)                         \
    F(Ineighbor_alltoallv, ineighbor_alltoallv) F(Neighbor_alltoallw, neighbor_alltoallw)                       \
    F(Ineighbor_alltoallw, ineighbor_alltoallw) F(Comm_dup, comm_dup) F(Comm_dup_with_info, comm_dup_with_info) \
    F(Comm_idup, comm_idup) F(Comm_create, comm_create) F(Comm_create_group, comm_create_group)                 \
    F(Comm_split, comm_split) F(Comm_split_type, comm_split_type) F(Cart_create, cart_create)                   \
    F(Cart_sub, cart_sub) F(Graph_create, graph_create) F(Dist_graph_create, dist_graph_create)                 \
    F(Dist_graph_create_adjacent, dist_graph_create_adjacent) F(Intercomm_create, intercomm_create)             \
    F(Intercomm_merge, intercomm_merge) F(Comm_spawn, comm_spawn) F(Comm_spawn_multiple, comm_spawn_multiple)   \
    F(Comm_accept, comm_accept) F(Comm_connect, comm_connect) F(Comm_set_info, comm_set_info)                   \
    F(Comm_free, comm_free) F(Comm_disconnect, comm_disconnect) F(File_open, file_open)                         \
    F(File_close, file_close) F(File_set_size, file_set_size) F(File_preallocate, file_preallocate)             \
    F(File_set_info, file_set_info) F(File_set_view, file_set_view) F(File_set_atomicity, file_set_atomicity)   \
    F(File_sync, file_sync) F(File_seek_shared, file_seek_shared) F(File_read_all, file_read_all)               \
    F(File_read_ordered, file_read_ordered) F(File_write_all, file_write_all)                                   \
    F(File_write_ordered, file_write_ordered) F(File_read_at_all, file_read_at_all)                             \
    F(File_write_at_all, file_write_at_all) F(File_iread_all, file_iread_all)                                   \
    F(File_iread_at_all, file_iread_at_all) F(File_read_all_begin, file_read_all_begin)                         \
    F(File_read_ordered_begin, file_read_ordered_begin) F(File_write_all_begin, file_write_all_begin)           \
    F(File_write_ordered_begin, file_write_ordered_begin) F(File_read_all_end, file_read_all_end)               \
    F(File_read_at_all_end, file_read_at_all_end) F(File_read_ordered_end, file_read_ordered_end)               \
    F(File_write_all_end, file_write_all_end) F(File_write_at_all_end, file_write_at_all_end)                   \
    F(File_write_ordered_end, file_write_ordered_end) F(File_read_at_all_begin, file_read_at_all_begin)         \
    F(File_write_at_all_begin, file_write_at_all_begin) F(File_iwrite_all, file_iwrite_all)                     \
    F(File_iwrite_at_all, file_iwrite_at_all) F(Win_create, win_create) F(Win_allocate, win_allocate)           \
    F(Win_allocate_shared, win_allocate_shared) F(Win_create_dynamic, win_create_dynamic) F(Win_free, win_free) \
    F(Win_fence, win_fence) F(Win_set_info, win_set_info)                                                      

#define PLACE(name, small) of_##name,
enum place { NAMES(PLACE) COUNT };

#define NAME(name, small) "MPI_" #name,
static const char *const names[] = {NAMES(NAME)};

static atomic_long calls[COUNT];
static _Thread_local int depth;

typedef long word;
typedef word function(word, word, word, word, word, word, word, word, word, word, word, word, word, word, word, word);
#define PARAMETERS \
    word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l, word m, word n, word o, word p
#define ARGUMENTS a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p

static function *next(const char *name)
{
    function *found = (function *)dlsym(RTLD_NEXT, name);
    if (found) return found;
    fprintf(stderr, "outermost_calls: there is no %s behind this library\n", name);
    abort();
}

#define WRAPPER(symbol, place)                            \
    word symbol(PARAMETERS)                               \
    {                                                     \
        static function *real;                            \
        if (!real) real = next(#symbol);                  \
        if (depth++ == 0) atomic_fetch_add(&calls[place], 1); \
        word result = real(ARGUMENTS);                    \
        depth--;                                          \
        return result;                                    \
    }
#define WRAPPERS(name, small)              \
    WRAPPER(MPI_##name, of_##name)         \
    WRAPPER(PMPI_##name, of_##name)        \
    WRAPPER(mpi_##small##_, of_##name)     \
    WRAPPER(mpi_##small##_f08_, of_##name)
NAMES(WRAPPERS)

static void write_counts(void)
{
    const char *output = getenv("COUNTS_OUTPUT");
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", output ? output : "counts", (int)getpid());
    FILE *file = fopen(path, "w");
    if (!file) abort();
    for (int place = 0; place < COUNT; place++)
        if (calls[place]) fprintf(file, "%s %ld\n", names[place], (long)calls[place]);
    fclose(file);
}

#define FINALIZE(symbol)                      \
    word symbol(PARAMETERS)                   \
    {                                         \
        if (depth++ == 0) write_counts();     \
        word result = next(#symbol)(ARGUMENTS); \
        depth--;                              \
        return result;                        \
    }
FINALIZE(MPI_Finalize)
FINALIZE(PMPI_Finalize)
FINALIZE(mpi_finalize_)
FINALIZE(mpi_finalize_f08_)
