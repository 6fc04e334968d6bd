/* Rank 1, and with more ranks all but rank 0, do not come to a barrier: they stand in a known line, as the argument says.
   `calls`: rank 1 waits in system calls for a while each, and reports how each of them ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;
static volatile long turns;
static int milliseconds = 600;

static void count(int signal) {
    (void)signal;
    alarms++;
}

static void stand(int levels, const char *how) {
    int value = levels;
    if (levels > 0) {
        stand(levels - 1, how); /* recursion */
    } else if (strcmp(how, "recv") == 0) {
        MPI_Recv(&value, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* recv */
    } else if (strcmp(how, "sleep") == 0) {
        sleep(1000); /* sleep */
    } else {
        while (turns >= 0) turns++; /* spin */
    }
    alarms += value;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

#define TELL(what, call) \
    do { \
        double began = now(); \
        long result = call; \
        tell(what, began, result); \
    } while (0)

static void tell(const char *what, double began, long result) {
    int error = result < 0 ? errno : 0;
    printf("%s: %ld, error %d, %s\n", what, result, error, now() - began < 0.999e-3 * milliseconds ? "early" : "in time");
}

static void calls(void) {
    struct timespec span = {0, milliseconds * 1000000L}, until;
    struct timeval interval = {0, milliseconds * 1000L};
    struct sembuf down = {0, -1, 0};
    struct epoll_event event;
    sigset_t none, usr;
    sem_t semaphore;
    int sockets[2], pipes[2], byte;
    sem_init(&semaphore, 0, 0);
    sigemptyset(&none);
    sigemptyset(&usr);
    sigaddset(&usr, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr, NULL);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 || pipe(pipes) != 0) {
        abort();
    }
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &interval, sizeof interval);
    int set = semget(IPC_PRIVATE, 1, 0600), polled = epoll_create1(0);
    TELL("nanosleep", nanosleep(&span, NULL));
    TELL("poll", poll(NULL, 0, milliseconds));
    TELL("ppoll", ppoll(NULL, 0, &span, &none));
    TELL("select", select(0, NULL, NULL, NULL, &interval));
    TELL("pselect", pselect(0, NULL, NULL, NULL, &span, &none));
    TELL("epoll_wait", epoll_wait(polled, &event, 1, milliseconds));
    TELL("sigtimedwait", sigtimedwait(&usr, NULL, &span));
    TELL("recv", recv(sockets[0], &byte, 1, 0));
    TELL("semtimedop", semtimedop(set, &down, 1, &span));
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += span.tv_nsec;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    TELL("sem_timedwait", sem_timedwait(&semaphore, &until));
    semctl(set, 0, IPC_RMID);
    /* Each of these signals is taken, while the process computes. */
    struct sigaction action = {.sa_handler = count};
    sigaction(SIGUSR2, &action, NULL);
    alarms = 0;
    int sent = 0;
    for (double begin = now(); now() - begin < 3e-3 * milliseconds; sent++) {
        raise(SIGUSR2);
    }
    printf("signals: %s\n", alarms == sent ? "all" : "lost");
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0 && strcmp(argv[1], "calls") == 0) {
        calls();
    } else if (rank > 0) {
        stand(3, argv[1]); /* main */
    }
    MPI_Barrier(MPI_COMM_WORLD); /* barrier */
    MPI_Finalize();
    return 0;
}
