/* no_answer WHERE HOW FOLDER: the last rank does not answer the others for a while, in the tracer's own work:
 *   init       while it waits for its turn in the comparison of clocks in MPI_Init
 *   finalize   in MPI_Finalize, when all ranks have come and write the trace
 * It is stopped (HOW is `stop`) or spins in a signal handler (`spin`) until all others have come through. Each of these
 * makes FOLDER/through.RANK then. FOLDER/silent says that it did so.
 *
 * The tracer's calls of the C library are those of the program, which tells by them where the tracer is: the comparison
 * sleeps for 200 us at a time, just after it has read the thread's processor time; the ranks of a node meet by sockets
 * of one kind to write. */
#define _GNU_SOURCE
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BETWEEN_LOOKS 200000

static const char *where, *how, *folder;
static int ranks = 3, is_next;
static __thread clockid_t clocks[2];

static int there(const char *name, int rank)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d", folder, name, rank);
    return access(path, F_OK) == 0;
}

static void make(const char *name, int rank)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d", folder, name, rank);
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

static int all_are_through(void)
{
    for (int rank = 0; rank < ranks - 1; rank++)
        if (!there("through", rank)) return 0;
    return 1;
}

static void spin(int signal)
{
    (void)signal;
    while (!all_are_through()) continue;
}

/* The handler is set here: MPICH 5 sets one of its own for SIGUSR1 in MPI_Init. */
static void be_silent(void)
{
    int before = errno;
    make("silent", 0);
    if (!strcmp(how, "stop")) {
        raise(SIGSTOP);
    } else {
        void (*of_library)(int) = signal(SIGUSR1, spin);
        raise(SIGUSR1);
        signal(SIGUSR1, of_library);
    }
    errno = before;
}

/* A process of its own continues the rank. */
static void continue_later(void)
{
    pid_t rank = getpid();
    if (fork() != 0) return;
    while (getppid() == rank && !(there("silent", 0) && all_are_through())) usleep(10000);
    kill(rank, SIGCONT);
    _exit(0);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
    clocks[1] = clocks[0], clocks[0] = clock;
    return syscall(SYS_clock_gettime, clock, time);
}

__attribute__((visibility("default"))) int
clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    int compares = clocks[0] == CLOCK_THREAD_CPUTIME_ID || clocks[1] == CLOCK_THREAD_CPUTIME_ID;
    if (compares && time->tv_sec == 0 && time->tv_nsec == BETWEEN_LOOKS && !strcmp(where, "init") &&
        __atomic_exchange_n(&is_next, 0, __ATOMIC_RELAXED))
        be_silent();
    return syscall(SYS_clock_nanosleep, clock, flags, time, left) == 0 ? 0 : errno;
}

__attribute__((visibility("default"))) int socket(int domain, int type, int protocol)
{
    int is_meeting = domain == AF_UNIX && (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_SEQPACKET;
    if (is_meeting && !strcmp(where, "finalize") && __atomic_exchange_n(&is_next, 0, __ATOMIC_RELAXED)) be_silent();
    return syscall(SYS_socket, domain, type, protocol);
}

int main(int argc, char **argv)
{
    const char *number = getenv("OMPI_COMM_WORLD_RANK");
    int rank = atoi(number != NULL ? number : getenv("PMI_RANK"));
    where = argv[1], how = argv[2], folder = argv[3];
    if (rank == ranks - 1) {
        if (!strcmp(how, "stop")) continue_later();
        is_next = 1;
    }
    MPI_Init(&argc, &argv);
    world();
    if (world_rank != rank) abort();
    if (!strcmp(where, "init") && rank < ranks - 1) make("through", rank);
    for (int k = 0; k < 10; k++) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank < ranks - 1) make("through", rank);
    return 0;
}
