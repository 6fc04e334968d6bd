/* above_limits FOLDER KILL KIND=NUMBER...: so many of each kind of what has a limit or a table in the tracer, then SIGKILL
 * of each rank to itself. KILL not 0: before that, after so many calls. FOLDER/counted.R, a file that rank R maps, has how
 * many calls of each function have returned: bytes of a shared mapping outlive the process.
 *
 *   communicators  duplicates and parts, used and freed
 *   operations     sizes of MPI_Bcast
 *   types          data types, used and freed
 *   operators      reduction operators, used and freed
 *   groups         communicators of groups, each with a group or tag of its own
 *   windows        windows, used and freed
 *   files          files, opened and closed
 *   requests       non-blocking calls at once
 *   sites          calls in code, each at a place of its own: at most 4096
 *   regions        regions with long names
 *   names          communicators with names
 *   threads        threads at once, each with calls on MPI_COMM_SELF */
#include "mpitrace.h"
#include "report.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

/* tests/whole_programs/above_limits.rs reads it. */
struct counted {
    char function[56];
    _Atomic unsigned long calls;
};
static struct counted *all;
enum { FUNCTIONS = 64 };
static unsigned long kill_after;
static _Atomic unsigned long total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct counted *of(const char *function)
{
    struct counted *found = all;
    pthread_mutex_lock(&lock);
    while (found->function[0] && strcmp(found->function, function)) found++;
    CHECK(found < all + FUNCTIONS);
    strcpy(found->function, function);
    pthread_mutex_unlock(&lock);
    return found;
}

static void count(const char *function, struct counted *_Atomic *known)
{
    if (!*known) *known = of(function);
    atomic_fetch_add(&(*known)->calls, 1);
    if (atomic_fetch_add(&total, 1) + 1 == kill_after) kill(getpid(), SIGKILL);
}

#define COUNT(function)                         \
    do {                                        \
        static struct counted *_Atomic known;   \
        count(function, &known);                \
    } while (0)

#define CALL(function, ...)                     \
    do {                                        \
        CHECK(function(__VA_ARGS__) == MPI_SUCCESS); \
        COUNT(#function);                       \
    } while (0)

static const char *folder;
static char *buffer;
static double one = 1, sum;

static void communicators(int number)
{
    for (int i = 0; i < number; i++) {
        MPI_Comm comm;
        if (i % 7 == 3)
            CALL(MPI_Comm_split, MPI_COMM_WORLD, world_rank % 2, world_rank, &comm);
        else
            CALL(MPI_Comm_dup, MPI_COMM_WORLD, &comm);
        CALL(MPI_Barrier, comm);
        if (i % 10 == 2) CALL(MPI_Bcast, buffer, 1 + i % 3, MPI_CHAR, 0, comm);
        CALL(MPI_Allreduce, &one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        CALL(MPI_Comm_free, &comm);
    }
}

static void operations(int number)
{
    for (int i = 0; i < number; i++) CALL(MPI_Bcast, buffer, i, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void types(int number)
{
    for (int i = 0; i < number; i++) {
        MPI_Datatype type;
        MPI_Type_contiguous(1 + i, MPI_CHAR, &type);
        MPI_Type_commit(&type);
        CALL(MPI_Bcast, buffer, 1, type, 0, MPI_COMM_WORLD);
        MPI_Type_free(&type);
    }
}

static void add(void *in, void *out, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++) ((double *)out)[i] += ((double *)in)[i];
}

static void operators(int number)
{
    for (int i = 0; i < number; i++) {
        MPI_Op op;
        MPI_Op_create(add, i % 2, &op);
        CALL(MPI_Allreduce, &one, &sum, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
        MPI_Op_free(&op);
    }
}

static void groups(int number)
{
    /* A tag may be 32767 everywhere: two groups have more. */
    MPI_Comm parent[] = { MPI_COMM_SELF, MPI_COMM_WORLD };
    for (int i = 0; i < number; i++) {
        MPI_Comm comm, from = parent[i / 30000 % 2];
        MPI_Group group;
        MPI_Comm_group(from, &group);
        CALL(MPI_Comm_create_group, from, group, i % 30000, &comm);
        MPI_Group_free(&group);
        CALL(MPI_Barrier, comm);
        CALL(MPI_Comm_free, &comm);
    }
}

static void windows(int number)
{
    for (int i = 0; i < number; i++) {
        MPI_Win window;
        CALL(MPI_Win_create, buffer, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        CALL(MPI_Win_fence, 0, window);
        CALL(MPI_Win_free, &window);
    }
}

static void files(int number)
{
    char name[4200];
    snprintf(name, sizeof name, "%s/file.%d", folder, world_rank);
    for (int i = 0; i < number; i++) {
        MPI_File file;
        CALL(MPI_File_open, MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
        CALL(MPI_File_write_all, file, buffer, 1 + i % 5, MPI_CHAR, MPI_STATUS_IGNORE);
        CALL(MPI_File_close, &file);
    }
}

static void requests(int number)
{
    MPI_Request *request = calloc(number, sizeof *request);
    for (int i = 0; i < number; i++) CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &request[i]) == MPI_SUCCESS);
    for (int i = 0; i < number; i++) {
        MPI_Wait(&request[i], MPI_STATUS_IGNORE);
        COUNT("MPI_Ibarrier");
    }
    free(request);
}

/* A function, and the places in eight: a compiler takes more than a minute for 4096 in one, each with its own count. */
static __attribute__((noinline)) void barrier_returned(int error)
{
    CHECK(error == MPI_SUCCESS);
    COUNT("MPI_Barrier");
}

#define TIMES8(do) do do do do do do do do
#define SITE if (left-- > 0) barrier_returned(MPI_Barrier(MPI_COMM_WORLD));
#define SITES_512(number) static int sites_##number(int left) { TIMES8(TIMES8(TIMES8(SITE))) return left; }
SITES_512(1) SITES_512(2) SITES_512(3) SITES_512(4) SITES_512(5) SITES_512(6) SITES_512(7) SITES_512(8)

static void sites(int left)
{
    left = sites_4(sites_3(sites_2(sites_1(left))));
    sites_8(sites_7(sites_6(sites_5(left))));
}

/* The names of 4 KiB fill the room that the tracer has for names. */
static void regions(int number)
{
    static char name[4097];
    memset(name, 'x', sizeof name - 1);
    for (int i = 0; i < number; i++) {
        name[snprintf(name, 32, "region-%06d-", i)] = 'x';
        int region = mpitrace_region(name);
        mpitrace_region_begin(region);
        mpitrace_region_end(region);
        if (region >= 0) COUNT("region");
    }
}

static void names(int number)
{
    for (int i = 0; i < number; i++) {
        MPI_Comm comm;
        char name[MPI_MAX_OBJECT_NAME];
        snprintf(name, sizeof name, "a communicator with the number %d", i);
        CALL(MPI_Comm_dup, MPI_COMM_WORLD, &comm);
        MPI_Comm_set_name(comm, name);
        CALL(MPI_Barrier, comm);
        CALL(MPI_Comm_free, &comm);
    }
}

static pthread_barrier_t together;

static void *work(void *unused)
{
    double in = 1, out;
    for (int i = 0; i < 3; i++) CALL(MPI_Allreduce, &in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    /* None ends before all have made calls: each is a thread of its own to the tracer. */
    pthread_barrier_wait(&together);
    return unused;
}

static void threads(int number)
{
    pthread_t *thread = calloc(number, sizeof *thread);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_barrier_init(&together, NULL, number);
    for (int i = 0; i < number; i++) CHECK(pthread_create(&thread[i], &small, work, NULL) == 0);
    for (int i = 0; i < number; i++) pthread_join(thread[i], NULL);
    free(thread);
}

static const struct kind {
    const char *name;
    void (*make)(int number);
} KINDS[] = {
    { "communicators", communicators }, { "operations", operations }, { "types", types }, { "operators", operators },
    { "groups", groups }, { "windows", windows }, { "files", files }, { "requests", requests }, { "sites", sites },
    { "regions", regions }, { "names", names }, { "threads", threads },
};

static void make(const char *what)
{
    for (size_t kind = 0; kind < sizeof KINDS / sizeof *KINDS; kind++) {
        size_t length = strlen(KINDS[kind].name);
        if (strncmp(what, KINDS[kind].name, length) || what[length] != '=') continue;
        KINDS[kind].make(atoi(what + length + 1));
        return;
    }
    CHECK(!"a kind");
}

int main(int argc, char **argv)
{
    char path[4200];
    int provided;
    CHECK(argc > 2);
    folder = argv[1];
    kill_after = strtoul(argv[2], NULL, 10);
    buffer = calloc(1 << 18, 1);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    world();
    snprintf(path, sizeof path, "%s/counted.%d", folder, world_rank);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(file >= 0 && ftruncate(file, FUNCTIONS * sizeof *all) == 0);
    all = mmap(NULL, FUNCTIONS * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(all != MAP_FAILED);
    close(file);
    for (int kind = 3; kind < argc; kind++) make(argv[kind]);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    kill(getpid(), SIGKILL);
    return 0;
}
