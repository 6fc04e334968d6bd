/* Rank MOCK_RANK (0) of MOCK_RANKS without the others: an MPI library of the standard interface, preloaded behind the
 * tracer. Each of the others is taken to do what this one does, on a node of its own: a sum is this rank's value times
 * the ranks; of large values, which are hashes here, another rank has a smaller one; a message comes at once, and holds
 * readings of this machine's counter, or what a rank says that leads a clock domain of its own (interpose/src/clocks/
 * numbering.rs). A broadcast leaves all as it is, so only rank 0 can write a trace. Groups are
 * arrays of world ranks, and translated as Open MPI does it, one rank of the other group after the other.
 *
 * Counts what is asked for under the names PMPI_..., which only a tool uses, and all memory that the process asks
 * for. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct mock_group {
    int users, size, *world;
};
struct mock_comm {
    struct mock_group *local, *remote;
    int rank;
};

static struct mock_comm world, self;
static struct {
    unsigned long local, collective, sent, received, translated, compared, grouped, made;
} counts;
static unsigned long allocated;

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void add(size_t bytes)
{
    __atomic_add_fetch(&allocated, bytes, __ATOMIC_RELAXED);
}

void *malloc(size_t bytes)
{
    add(bytes);
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
    add(number * bytes);
    return __libc_calloc(number, bytes);
}

void *realloc(void *old, size_t bytes)
{
    add(bytes);
    return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    add(bytes);
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **place, size_t alignment, size_t bytes)
{
    *place = aligned_alloc(alignment, bytes);
    return *place ? 0 : 12;
}

static uint64_t ticks(void)
{
#if defined __x86_64__
    return __builtin_ia32_rdtsc();
#elif defined __aarch64__
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return now.tv_sec * 1000000000u + now.tv_nsec;
#endif
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Prints what was counted since the phase before. */
void mock_phase(const char *name)
{
    static double begun;
    static long resident;
    double now = seconds();
    unsigned long asked = allocated;
    long here = resident_kib();
    printf("phase %s local %lu collective %lu sent %lu received %lu translated %lu compared %lu grouped %lu made %lu "
           "allocated %lu us %.1f resident_kib %ld\n",
           name, counts.local, counts.collective, counts.sent, counts.received, counts.translated, counts.compared,
           counts.grouped, counts.made, asked, begun > 0 ? (now - begun) * 1e6 : 0, here - resident);
    fflush(stdout);
    memset(&counts, 0, sizeof counts);
    resident = resident_kib();
    allocated = 0;
    begun = seconds();
}

static struct mock_group *group_of(int size)
{
    struct mock_group *group = __libc_malloc(sizeof *group);
    *group = (struct mock_group){1, size, __libc_malloc(size * sizeof(int))};
    return group;
}

static struct mock_group *shared(struct mock_group *group)
{
    group->users++;
    return group;
}

static void dropped(struct mock_group *group)
{
    if (--group->users == 0) {
        free(group->world);
        free(group);
    }
}

static struct mock_comm *comm_of(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD ? &world : comm == MPI_COMM_SELF ? &self : (struct mock_comm *)comm;
}

static int new_comm(struct mock_group *local, struct mock_group *remote, MPI_Comm *made)
{
    struct mock_comm *comm = __libc_malloc(sizeof *comm);
    *comm = (struct mock_comm){local, remote, 0};
    /* Its rank of the world is this process' name. */
    while (local->world[comm->rank] != world.rank) comm->rank++;
    *made = (MPI_Comm)comm;
    return MPI_SUCCESS;
}

/* A function of MPI, under both of its names; KIND is counted where a tool calls it. */
#define FUNCTION(KIND, NAME, PARAMETERS, ARGUMENTS) \
    static int mock_##NAME PARAMETERS; \
    int MPI_##NAME PARAMETERS { return mock_##NAME ARGUMENTS; } \
    int PMPI_##NAME PARAMETERS { counts.KIND++; return mock_##NAME ARGUMENTS; } \
    static int mock_##NAME PARAMETERS

static int begin(void)
{
    const char *ranks = getenv("MOCK_RANKS"), *rank = getenv("MOCK_RANK");
    int size = ranks ? atoi(ranks) : 1;
    world.rank = rank ? atoi(rank) : 0;
    world.local = group_of(size);
    for (int i = 0; i < size; i++) world.local->world[i] = i;
    self.local = group_of(1);
    self.local->world[0] = world.rank;
    return MPI_SUCCESS;
}

FUNCTION(local, Init, (int *argc, char ***argv), (argc, argv))
{
    (void)argc, (void)argv;
    return begin();
}

FUNCTION(local, Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided))
{
    (void)argc, (void)argv;
    *provided = required;
    return begin();
}

FUNCTION(local, Finalize, (void), ())
{
    return MPI_SUCCESS;
}

FUNCTION(local, Query_thread, (int *provided), (provided))
{
    *provided = MPI_THREAD_SINGLE;
    return MPI_SUCCESS;
}

FUNCTION(local, Abi_get_version, (int *major, int *minor), (major, minor))
{
    *major = 1;
    *minor = 0;
    return MPI_SUCCESS;
}

FUNCTION(local, Get_library_version, (char *text, int *length), (text, length))
{
    *length = sprintf(text, "mock of %d ranks", world.local ? world.local->size : 0);
    return MPI_SUCCESS;
}

FUNCTION(local, Comm_rank, (MPI_Comm comm, int *rank), (comm, rank))
{
    *rank = comm_of(comm)->rank;
    return MPI_SUCCESS;
}

FUNCTION(local, Comm_size, (MPI_Comm comm, int *size), (comm, size))
{
    *size = comm_of(comm)->local->size;
    return MPI_SUCCESS;
}

FUNCTION(local, Comm_test_inter, (MPI_Comm comm, int *flag), (comm, flag))
{
    *flag = comm_of(comm)->remote != NULL;
    return MPI_SUCCESS;
}

FUNCTION(local, Comm_remote_size, (MPI_Comm comm, int *size), (comm, size))
{
    *size = comm_of(comm)->remote->size;
    return MPI_SUCCESS;
}

FUNCTION(local, Topo_test, (MPI_Comm comm, int *kind), (comm, kind))
{
    (void)comm;
    *kind = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

FUNCTION(local, Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler))
{
    (void)comm, (void)handler;
    return MPI_SUCCESS;
}

FUNCTION(local, Error_class, (int code, int *class), (code, class))
{
    *class = code;
    return MPI_SUCCESS;
}

FUNCTION(local, Comm_group, (MPI_Comm comm, MPI_Group *group), (comm, group))
{
    *group = (MPI_Group)shared(comm_of(comm)->local);
    return MPI_SUCCESS;
}

FUNCTION(local, Comm_remote_group, (MPI_Comm comm, MPI_Group *group), (comm, group))
{
    *group = (MPI_Group)shared(comm_of(comm)->remote);
    return MPI_SUCCESS;
}

FUNCTION(local, Group_free, (MPI_Group *group), (group))
{
    dropped((struct mock_group *)*group);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

FUNCTION(local, Group_size, (MPI_Group group, int *size), (group, size))
{
    *size = ((struct mock_group *)group)->size;
    return MPI_SUCCESS;
}

FUNCTION(local, Group_range_incl, (MPI_Group group, int n, int ranges[][3], MPI_Group *made), (group, n, ranges, made))
{
    const struct mock_group *from = (struct mock_group *)group;
    int size = 0, at = 0;
    for (int i = 0; i < n; i++) size += (ranges[i][1] - ranges[i][0]) / ranges[i][2] + 1;
    struct mock_group *group_made = group_of(size);
    for (int i = 0; i < n; i++)
        for (int j = ranges[i][0]; j <= ranges[i][1]; j += ranges[i][2]) group_made->world[at++] = from->world[j];
    counts.grouped += size;
    *made = (MPI_Group)group_made;
    return MPI_SUCCESS;
}

FUNCTION(local, Group_translate_ranks, (MPI_Group one, int n, const int ranks[], MPI_Group other, int found[]),
         (one, n, ranks, other, found))
{
    const struct mock_group *from = (struct mock_group *)one, *to = (struct mock_group *)other;
    for (int i = 0; i < n; i++) {
        int wanted = from->world[ranks[i]], at = 0;
        while (at < to->size && to->world[at] != wanted) at++;
        found[i] = at < to->size ? at : MPI_UNDEFINED;
        counts.compared += at < to->size ? at + 1 : at;
    }
    counts.translated += n;
    return MPI_SUCCESS;
}

FUNCTION(made, Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
{
    return new_comm(shared(comm_of(comm)->local), NULL, made);
}

/* 0 is every rank's colour, another small one that of every second rank, any other this rank's alone. */
FUNCTION(made, Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made))
{
    const struct mock_group *from = comm_of(comm)->local;
    (void)key;
    if (color == MPI_UNDEFINED) {
        *made = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    if (color == 0) return new_comm(shared(comm_of(comm)->local), NULL, made);
    int first = color < 1000 ? comm_of(comm)->rank % 2 : comm_of(comm)->rank;
    struct mock_group *group = group_of(color < 1000 ? (from->size - first + 1) / 2 : 1);
    for (int i = 0; i < group->size; i++) group->world[i] = from->world[first + 2 * i];
    return new_comm(group, NULL, made);
}

FUNCTION(made, Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm *made),
         (comm, kind, key, info, made))
{
    (void)comm, (void)kind, (void)key, (void)info;
    return new_comm(shared(self.local), NULL, made);
}

FUNCTION(made, Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made), (comm, group, tag, made))
{
    (void)comm, (void)tag;
    return new_comm(shared((struct mock_group *)group), NULL, made);
}

/* With the ranks of the world that are not in the communicator. */
FUNCTION(made, Intercomm_create,
         (MPI_Comm comm, int leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *made),
         (comm, leader, peer, remote_leader, tag, made))
{
    struct mock_group *local = comm_of(comm)->local, *remote = group_of(world.local->size - local->size);
    (void)leader, (void)peer, (void)remote_leader, (void)tag;
    for (int i = 0, at = 0, in = 0; i < world.local->size; i++) {
        if (in < local->size && local->world[in] == i) in++;
        else remote->world[at++] = i;
    }
    return new_comm(shared(local), remote, made);
}

FUNCTION(local, Comm_free, (MPI_Comm *comm), (comm))
{
    struct mock_comm *old = comm_of(*comm);
    dropped(old->local);
    if (old->remote) dropped(old->remote);
    free(old);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

FUNCTION(local, Type_size, (MPI_Datatype type, int *size), (type, size))
{
    *size = type == MPI_BYTE || type == MPI_CHAR ? 1 : type == MPI_INT ? 4 : 8;
    return MPI_SUCCESS;
}

FUNCTION(local, Type_size_x, (MPI_Datatype type, MPI_Count *size), (type, size))
{
    int bytes;
    mock_Type_size(type, &bytes);
    *size = bytes;
    return MPI_SUCCESS;
}

FUNCTION(local, Type_get_name, (MPI_Datatype type, char *name, int *length), (type, name, length))
{
    *length = sprintf(name, "%s", type == MPI_INT ? "MPI_INT" : type == MPI_DOUBLE ? "MPI_DOUBLE" : "MPI_BYTE");
    return MPI_SUCCESS;
}

/* What all ranks say together, where each says the same; hashes differ. */
static int64_t reduced(int64_t value, MPI_Op op, const struct mock_comm *comm)
{
    const int64_t large = INT64_C(1) << 40;
    if (comm->local->size == 1) return value;
    if (op == MPI_SUM) return value * comm->local->size;
    return op == MPI_MIN && (value > large || value < -large) && value != INT64_MIN ? value - 1 : value;
}

/* The least of many words: all ranks say the same, or leave a word to rank 0, which has said it in a run of its own and
 * left its words in the file MOCK_SAID. */
static int least_of_many(int64_t *words, int n, MPI_Comm comm)
{
    const char *path = getenv("MOCK_SAID");
    int64_t said[64];
    int is_first = comm_of(comm)->rank == 0;
    FILE *file = path && n <= 64 ? fopen(path, is_first ? "w" : "r") : NULL;
    if (!file) return MPI_SUCCESS;
    size_t done = is_first ? fwrite(words, sizeof *words, n, file) : fread(said, sizeof *said, n, file);
    fclose(file);
    if (done != (size_t)n) return MPI_ERR_OTHER;
    for (int i = 0; !is_first && i < n; i++)
        if (words[i] == INT64_MAX) words[i] = said[i];
    return MPI_SUCCESS;
}

/* Words that have a bit for each rank, which it sets: all ranks set theirs. */
static int bits_of_all(int64_t *words, int n, MPI_Comm comm)
{
    int size = comm_of(comm)->local->size;
    for (int rank = 0; rank < size; rank++) words[rank / 64] |= (int64_t)((uint64_t)1 << rank % 64);
    return n * 64 >= size ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* The handle of an operator that the program has made is the address of its function; those of MPI are small numbers. */
static int is_made(MPI_Op op)
{
    return (uintptr_t)op > 4095;
}

FUNCTION(local, Op_create, (MPI_User_function *function, int commutes, MPI_Op *made), (function, commutes, made))
{
    (void)commutes;
    *made = (MPI_Op)(uintptr_t)function;
    return MPI_SUCCESS;
}

FUNCTION(local, Op_free, (MPI_Op *op), (op))
{
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

static int reduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int size;
    mock_Type_size(type, &size);
    if (in != MPI_IN_PLACE) memmove(out, in, (size_t)n * size);
    if (is_made(op)) ((MPI_User_function *)(uintptr_t)op)((void *)in, out, &n, &type);
    if (type == MPI_INT64_T && op == MPI_MIN && n > 4) return least_of_many(out, n, comm);
    if (type == MPI_INT64_T && op == MPI_SUM && n > 8) return bits_of_all(out, n, comm);
    for (int i = 0; type == MPI_INT64_T && i < n; i++)
        ((int64_t *)out)[i] = reduced(((int64_t *)out)[i], op, comm_of(comm));
    return MPI_SUCCESS;
}

FUNCTION(collective, Allreduce,
         (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (in, out, n, type, op, comm))
{
    return reduce(in, out, n, type, op, comm);
}

/* A request that is complete. */
static int complete(int result, MPI_Request *request)
{
    *request = (MPI_Request)&world;
    return result;
}

FUNCTION(collective, Iallreduce,
         (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request),
         (in, out, n, type, op, comm, request))
{
    return complete(reduce(in, out, n, type, op, comm), request);
}

FUNCTION(made, Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request))
{
    if (getenv("MOCK_NO_DUPLICATE")) return MPI_ERR_OTHER;
    return complete(mock_Comm_dup(comm, made), request);
}

FUNCTION(collective, Reduce,
         (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
         (in, out, n, type, op, root, comm))
{
    (void)root;
    return reduce(in, out, n, type, op, comm);
}

/* What the first rank receives is not defined. */
FUNCTION(collective, Iexscan,
         (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request),
         (in, out, n, type, op, comm, request))
{
    (void)op;
    for (int i = 0; type == MPI_INT64_T && i < n && comm_of(comm)->rank > 0; i++)
        ((int64_t *)out)[i] = ((const int64_t *)in)[i] * comm_of(comm)->rank;
    return complete(MPI_SUCCESS, request);
}

FUNCTION(collective, Bcast, (void *words, int n, MPI_Datatype type, int root, MPI_Comm comm),
         (words, n, type, root, comm))
{
    (void)words, (void)n, (void)type, (void)root, (void)comm;
    return MPI_SUCCESS;
}

FUNCTION(collective, Ibcast, (void *words, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request),
         (words, n, type, root, comm, request))
{
    return complete(mock_Bcast(words, n, type, root, comm), request);
}

FUNCTION(collective, Barrier, (MPI_Comm comm), (comm))
{
    (void)comm;
    return MPI_SUCCESS;
}

FUNCTION(collective, Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request))
{
    (void)comm;
    return complete(MPI_SUCCESS, request);
}

FUNCTION(collective, Igather,
         (const void *in, int n, MPI_Datatype type, void *out, int each, MPI_Datatype of, int root, MPI_Comm comm,
          MPI_Request *request),
         (in, n, type, out, each, of, root, comm, request))
{
    int size;
    mock_Type_size(of, &size);
    (void)n, (void)type, (void)root;
    for (int i = 0; i < comm_of(comm)->local->size; i++)
        if (in != MPI_IN_PLACE || i > 0)
            memcpy((char *)out + (size_t)i * each * size, in == MPI_IN_PLACE ? out : in, (size_t)each * size);
    return complete(MPI_SUCCESS, request);
}

FUNCTION(sent, Send, (const void *words, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm),
         (words, n, type, to, tag, comm))
{
    (void)words, (void)n, (void)type, (void)to, (void)tag, (void)comm;
    return MPI_SUCCESS;
}

/* The tracer starts no message to a rank. */
FUNCTION(local, Isend,
         (const void *words, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
         (words, n, type, to, tag, comm, request))
{
    (void)words, (void)n, (void)type, (void)to, (void)tag, (void)comm;
    return complete(MPI_SUCCESS, request);
}

/* The tags of the messages by which leaders are counted, and find each other. */
enum { COUNTING = 3, FINDING = 0 };

FUNCTION(received, Irecv,
         (void *words, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request),
         (words, n, type, from, tag, comm, request))
{
    int size, ranks = comm_of(comm)->local->size, away = from - comm_of(comm)->rank;
    if (from == MPI_PROC_NULL) {
        counts.received--;
        return complete(MPI_SUCCESS, request);
    }
    mock_Type_size(type, &size);
    for (size_t i = 0; i + 8 <= (size_t)n * size; i += 8) {
        uint64_t now = ticks();
        memcpy((char *)words + i, &now, 8);
    }
    if (tag == COUNTING) {
        /* Each of the ranks from there on leads, as many as it is away; and the nearest of them. */
        int there = away > 0 ? ranks - from : from + 1;
        uint64_t counted[2] = {there < abs(away) ? there : abs(away), from + 1};
        memcpy(words, counted, sizeof counted);
    } else if (tag == FINDING) {
        int twice = from + away;
        uint64_t found = twice < 0 || twice >= ranks ? 0 : twice + 1;
        memcpy(words, &found, sizeof found);
    }
    return complete(MPI_SUCCESS, request);
}

FUNCTION(local, Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
         (source, tag, comm, flag, status))
{
    (void)source, (void)tag, (void)comm, (void)status;
    *flag = 0;
    return MPI_SUCCESS;
}

FUNCTION(local, Test_cancelled, (const MPI_Status *status, int *flag), (status, flag))
{
    (void)status;
    *flag = 0;
    return MPI_SUCCESS;
}

/* The tracer asks for the length of the last message of a rank alone, which is empty. */
FUNCTION(local, Get_elements_x, (const MPI_Status *status, MPI_Datatype type, MPI_Count *count), (status, type, count))
{
    (void)status, (void)type;
    *count = 0;
    return MPI_SUCCESS;
}

FUNCTION(local, Wait, (MPI_Request *request, MPI_Status *status), (request, status))
{
    (void)status;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

FUNCTION(local, Test, (MPI_Request *request, int *flag, MPI_Status *status), (request, flag, status))
{
    (void)status;
    *flag = 1;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}
