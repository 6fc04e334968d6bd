/* Counts and times the calls of each MPI function that the program itself makes: those within another call, of the library
 * or of a callback, are not counted. Preloaded in front of the tracer, it counts what the tracer has to record, and it
 * knows nothing but the names of functions: each wrapper hands on as many words as any of them takes. In MPI_Finalize the
 * counts of collective functions go to COUNTS_OUTPUT.PID, a name and a number in each line, and, where TIMES_OUTPUT is set,
 * the times in these and in functions that can wait to TIMES_OUTPUT.PID: a name and ns in each line, of the thread of
 * MPI_Init. `begin` and `end` are CLOCK_MONOTONIC behind MPI_Init and before MPI_Finalize. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
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

/* Functions of messages, windows and files that can wait, or that programs poll with. */
#define OTHERS(F) \
    F(Send, send) F(Ssend, ssend) F(Bsend, bsend) F(Rsend, rsend) F(Recv, recv) F(Sendrecv, sendrecv)            \
    F(Sendrecv_replace, sendrecv_replace) F(Probe, probe) F(Iprobe, iprobe) F(Mprobe, mprobe) F(Improbe, improbe) \
    F(Mrecv, mrecv) F(Wait, wait) F(Waitall, waitall) F(Waitany, waitany) F(Waitsome, waitsome) F(Test, test)     \
    F(Testall, testall) F(Testany, testany) F(Testsome, testsome) F(Request_get_status, request_get_status)      \
    F(Win_lock, win_lock) F(Win_unlock, win_unlock) F(Win_lock_all, win_lock_all)                                \
    F(Win_unlock_all, win_unlock_all) F(Win_flush, win_flush) F(Win_flush_all, win_flush_all)                    \
    F(Win_flush_local, win_flush_local) F(Win_flush_local_all, win_flush_local_all) F(Win_start, win_start)      \
    F(Win_complete, win_complete) F(Win_post, win_post) F(Win_wait, win_wait) F(Win_test, win_test)              \
    F(File_read, file_read) F(File_read_at, file_read_at) F(File_read_shared, file_read_shared)                  \
    F(File_write, file_write) F(File_write_at, file_write_at) F(File_write_shared, file_write_shared)            \
    F(File_delete, file_delete)

#define PLACE(name, small) of_##name,
enum place { NAMES(PLACE) COUNT, OTHERS(PLACE) ALL };

#define NAME(name, small) "MPI_" #name,
static const char *const names[] = {NAMES(NAME) "", OTHERS(NAME)};

static atomic_long calls[ALL];
static _Thread_local int depth, is_first;
/* Of the thread of MPI_Init, ns. */
static long times[ALL], begun;

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

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
        int is_outermost = depth++ == 0;                  \
        if (is_outermost) atomic_fetch_add(&calls[place], 1); \
        int is_timed = is_outermost && is_first;          \
        long since = is_timed ? now() : 0;                \
        word result = real(ARGUMENTS);                    \
        if (is_timed) times[place] += now() - since;      \
        depth--;                                          \
        return result;                                    \
    }
#define WRAPPERS(name, small)              \
    WRAPPER(MPI_##name, of_##name)         \
    WRAPPER(PMPI_##name, of_##name)        \
    WRAPPER(mpi_##small##_, of_##name)     \
    WRAPPER(mpi_##small##_f08_, of_##name)
NAMES(WRAPPERS)
OTHERS(WRAPPERS)

/* Python has loaded the library for one module alone: so it is not behind this one before it is loaded for all. */
#define INIT(symbol)                            \
    word symbol(PARAMETERS)                     \
    {                                           \
        int is_outermost = depth++ == 0;        \
        dlopen("libmpi.so.40", RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD); \
        word result = next(#symbol)(ARGUMENTS); \
        depth--;                                \
        if (is_outermost) begun = now();        \
        is_first |= is_outermost;               \
        return result;                          \
    }
INIT(MPI_Init)
INIT(PMPI_Init)
INIT(mpi_init_)
INIT(mpi_init_f08_)
INIT(MPI_Init_thread)
INIT(PMPI_Init_thread)
INIT(mpi_init_thread_)
INIT(mpi_init_thread_f08_)

/* To the file NAME.PID, where the variable has a name. */
static FILE *output(const char *variable)
{
    const char *name = getenv(variable);
    char path[4096];
    if (!name) return NULL;
    snprintf(path, sizeof path, "%s.%d", name, (int)getpid());
    FILE *file = fopen(path, "w");
    if (!file) abort();
    return file;
}

static void write_counts(void)
{
    FILE *file = output("TIMES_OUTPUT");
    if (file) {
        fprintf(file, "rank %s\nbegin %ld\nend %ld\n", getenv("OMPI_COMM_WORLD_RANK"), begun, now());
        for (int place = 0; place < ALL; place++)
            if (times[place]) fprintf(file, "%s %ld\n", names[place], times[place]);
        fclose(file);
    }
    file = output("COUNTS_OUTPUT");
    if (!file) return;
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
