/* ended WHAT HOW FOLDER: the ranks exchange by `collectives` or by `messages` alone for a while, and end:
 *   finalize  by MPI_Finalize
 *   kill      rank 1 kills itself while the others wait for it
 *   abort     rank 1 calls MPI_Abort
 *   exit      rank 1 exits without MPI_Finalize
 *   moving    rank 0 kills itself while all exchange
 *   hang      all wait for messages that nobody sends, until rank 0 kills itself
 *   pair      ranks 0 and 1 wait for messages of each other that neither sends, until rank 0 kills itself; the others
 *             go on, each by itself
 * Of `hang` and `pair` each rank that waits stores in FOLDER/moved.RANK when it began to wait, and rank 0 in
 * FOLDER/killed when it did so: CLOCK_MONOTONIC_RAW, ns, eight bytes each. Rank 0 stores its process number in
 * FOLDER/process before. FOLDER is in memory and its files are mapped, so that nothing can block between reading a time
 * and what it is the time of: a store to a mapped page of a disk can wait for the disk. */
#include "report.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const char *folder;

/* The mapped bytes of FOLDER/NAME. */
static volatile int64_t *place(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, sizeof(int64_t)) != 0) abort();
    volatile int64_t *bytes = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) abort();
    close(file);
    *bytes = 0;
    return bytes;
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static volatile int64_t *killed_at;

static void killed(int signal)
{
    (void)signal;
    *killed_at = now();
    kill(getpid(), SIGKILL);
}

/* The calls of a rank that needs no other one. */
static void alone(int collectives)
{
    int mine = world_rank, theirs = 0;
    if (collectives) MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    else MPI_Sendrecv(&mine, 1, MPI_INT, 0, 1, &theirs, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void exchange(int collectives)
{
    int mine = world_rank, theirs = 0;
    int up = (world_rank + 1) % world_size, down = (world_rank + world_size - 1) % world_size;
    if (collectives) MPI_Allreduce(&mine, &theirs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else MPI_Sendrecv(&mine, 1, MPI_INT, up, 1, &theirs, 1, MPI_INT, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    const char *how = argv[2];
    int collectives = !strcmp(argv[1], "collectives"), mine = 0;
    folder = argv[3];
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < 100; i++) {
        exchange(collectives);
        if (world_rank == 1) usleep(1000);
    }
    if (!strcmp(how, "finalize")) {
        MPI_Finalize();
        return 0;
    }
    int is_pair = !strcmp(how, "pair"), hangs = !strcmp(how, "hang") || is_pair;
    if (world_rank == 0 && (hangs || !strcmp(how, "moving"))) {
        killed_at = place("killed");
        *place("process") = getpid();
        signal(SIGALRM, killed);
        /* There is a verdict on ranks that have stood for 3 s, of which a look every 1.25 s may miss one period. */
        if (is_pair) alarm(6);
        else ualarm(600000, 0);
    }
    /* MPICH 5's launcher misses some of the ranks that exit, and does not end the others. */
    if (world_rank != 1 && !strcmp(how, "exit")) alarm(15);
    while (is_pair && world_rank > 1) {
        alone(collectives);
        usleep(1000);
    }
    if (hangs) {
        int from = (world_rank + 1) % (is_pair ? 2 : world_size);
        char name[32];
        snprintf(name, sizeof name, "moved.%d", world_rank);
        volatile int64_t *moved_at = place(name);
        *moved_at = now();
        MPI_Recv(&mine, 1, MPI_INT, from, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (world_rank == 1 && strcmp(how, "moving")) {
        /* So late that the others wait. */
        usleep(200000);
        if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
        if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 3);
        if (!strcmp(how, "exit")) exit(4);
        /* MPICH 5's MPI_Abort can return. */
        for (;;) pause();
    }
    for (;;) exchange(collectives);
}
