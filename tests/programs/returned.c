/* returned FOLDER HOW RANK CALLS DELAY: collectives of several kinds, and in FOLDER/returned.R, a file that rank R maps,
 * how many of each kind have returned. Bytes of a shared mapping outlive the process.
 *
 * Rank RANK ends before its call number CALLS:
 *   kill      by SIGKILL from another process, DELAY us after that call was begun, wherever it is then
 *   segv      by a wild pointer
 *   sigabrt   by abort()
 *   exit      by exit(4), without MPI_Finalize
 *   abort     by MPI_Abort with the code 3
 *   error     by a wrong argument, which MPI_ERRORS_ARE_FATAL
 *   finalize  by exit(4), DELAY us after the others have begun MPI_Finalize
 *   killed-in-finalize  by SIGKILL, DELAY us after all ranks have begun MPI_Finalize
 *   none      not at all: the calls have no end, but for an alarm after 60 s */
#include "report.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ALLREDUCE, BCAST, BARRIER, IALLREDUCE, ALLGATHER, ALLTOALL, KINDS };

/* tests/whole_programs/truth.rs reads it. */
struct truth {
    unsigned long process, returned[KINDS];
};
static volatile struct truth *truth;

/* What the process that kills waits for. */
static _Atomic int *due;

static void *shared(int file, size_t length)
{
    int kind = MAP_SHARED | (file < 0 ? MAP_ANONYMOUS : 0);
    void *place = mmap(NULL, length, PROT_READ | PROT_WRITE, kind, file, 0);
    CHECK(place != MAP_FAILED);
    return place;
}

/* Forked before MPI is there. */
static void fork_killer(int delay)
{
    pid_t rank = getpid();
    due = shared(-1, sizeof *due);
    pid_t killer = fork();
    CHECK(killer >= 0);
    if (killer) return;
    /* Nothing of the rank's stays open, as its launcher waits for the end of its output. */
    for (int file = 0; file < 1024; file++) close(file);
    for (int waited = 0; !atomic_load(due); waited++) {
        if (getppid() != rank || waited > 600000) _exit(0);
        usleep(100);
    }
    for (int left = delay; left > 0; left -= 1000) usleep(left < 1000 ? left : 1000);
    if (getppid() == rank) kill(rank, SIGKILL);
    _exit(0);
}

/* The k-th call, the same on all ranks. */
static void call(unsigned long k, MPI_Comm pair)
{
    static int many[64], all[256];
    double in = k, out;
    MPI_Request request;
    int kind = (k * 2654435761u >> 13) % KINDS, root = k / 7 % world_size;
    switch (kind) {
    case ALLREDUCE: MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, k % 3 ? MPI_COMM_WORLD : pair); break;
    case BCAST: MPI_Bcast(many, 1 + k % 4 * 8, MPI_INT, root, MPI_COMM_WORLD); break;
    case BARRIER: MPI_Barrier(k % 5 ? MPI_COMM_WORLD : pair); break;
    case IALLREDUCE:
        MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case ALLGATHER: MPI_Allgather(many, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD); break;
    case ALLTOALL: MPI_Alltoall(many, 2, MPI_INT, all, 2, MPI_INT, pair); break;
    }
    truth->returned[kind]++;
    /* A launcher can take long to end its ranks: what they do until then shall fit into the arrays. */
    if (k > 20000) usleep(1000);
}

int main(int argc, char **argv)
{
    char path[4096];
    MPI_Comm pair;
    CHECK(argc == 6);
    const char *how = argv[2];
    int rank = atoi(argv[3]), delay = atoi(argv[5]);
    unsigned long calls = strtoul(argv[4], NULL, 10);
    int killed = !strncmp(how, "kill", 4), in_finalize = strstr(how, "finalize") != NULL;
    if (killed) fork_killer(delay);
    alarm(60);
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_dup(MPI_COMM_WORLD, &pair);
    snprintf(path, sizeof path, "%s/returned.%d", argv[1], world_rank);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(file >= 0 && ftruncate(file, sizeof *truth) == 0);
    truth = shared(file, sizeof *truth);
    close(file);
    truth->process = getpid();
    for (unsigned long k = 0;; k++) {
        if (!strcmp(how, "none") || k < calls) {
            call(k, pair);
            continue;
        }
        if (in_finalize) break;
        if (world_rank != rank) {
            call(k, pair);
            continue;
        }
        if (!strcmp(how, "segv")) *(volatile int *)8 = 1;
        if (!strcmp(how, "sigabrt")) abort();
        if (!strcmp(how, "exit")) exit(4);
        if (!strcmp(how, "error")) MPI_Bcast(&file, -1, MPI_INT, 0, MPI_COMM_WORLD);
        if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 3);
        if (!killed) _exit(3); /* MPICH 5's MPI_Abort can return. */
        atomic_store(due, 1);
        call(k, pair);
    }
    if (world_rank == rank && !killed) {
        usleep(delay);
        exit(4);
    }
    if (world_rank == rank) atomic_store(due, 1);
    MPI_Finalize();
    return 0;
}
