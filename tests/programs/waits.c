/* waits WHAT FILE: ten times rank 1 waits for rank 0, which computes first for some ms:
 *   recv        in MPI_Recv, before a barrier each time;
 *   wait        in MPI_Wait for a receive, the same;
 *   waitall     in MPI_Waitall for three receives, the same;
 *   probe       in MPI_Probe, and MPI_Recv behind it, the same;
 *   sleep       in MPI_Recv, in which a signal handler sleeps for 20 ms, the same;
 *   collective  in MPI_Wait for an MPI_Ibarrier;
 *   alone       in MPI_Recv, without any collective;
 *   thread      in MPI_Recv on a second thread, with a barrier behind all.
 * Each rank writes to FILE-RANK what it knows of the calls that can wait: how many it made and how long they took, ns, the
 * same of those for a collective, how often it slept in them, and for how long (ns) it was ready to run from the stamp
 * before such a call to the stamp behind it, and had no processor. */
#define _GNU_SOURCE
#include "report.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

enum { TURNS = 10 };

static int calls, of_collectives, slept;
static double spent, spent_for_collectives;
static unsigned long long had_no_processor;
static volatile sig_atomic_t inside;

/* The time for which this thread was ready to run and had no processor, ns: 0 where the kernel does not tell it. */
static unsigned long long ready_ns(void)
{
    unsigned long long ran, ready = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (!file) return 0;
    if (fscanf(file, "%llu %llu", &ran, &ready) != 2) ready = 0;
    fclose(file);
    return ready;
}

#define TIMED(count, sum, call)                     \
    do {                                            \
        unsigned long long ready = ready_ns();      \
        double before = MPI_Wtime();                \
        inside = 1;                                 \
        call;                                       \
        inside = 0;                                 \
        sum += MPI_Wtime() - before;                \
        had_no_processor += ready_ns() - ready;     \
        count++;                                    \
    } while (0)
#define WAITS(call) TIMED(calls, spent, call)

static void on_alarm(int signal)
{
    struct timespec time = {0, 20000000};
    (void) signal;
    if (!inside) return;
    nanosleep(&time, NULL);
    slept++;
}

static void compute(double seconds)
{
    double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end)
        ;
}

static void receive(const char *what)
{
    int got[3];
    MPI_Request requests[3];
    if (!strcmp(what, "wait")) {
        MPI_Irecv(got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, requests);
        WAITS(MPI_Wait(requests, MPI_STATUS_IGNORE));
    } else if (!strcmp(what, "waitall")) {
        for (int i = 0; i < 3; i++) MPI_Irecv(got + i, 1, MPI_INT, 0, i, MPI_COMM_WORLD, requests + i);
        WAITS(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    } else {
        if (!strcmp(what, "probe")) WAITS(MPI_Probe(0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        WAITS(MPI_Recv(got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void turn(const char *what)
{
    if (!strcmp(what, "collective")) {
        MPI_Request request;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        if (world_rank == 0) compute(0.005);
        TIMED(of_collectives, spent_for_collectives, MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (world_rank == 0) {
        int three = !strcmp(what, "waitall") ? 3 : 1;
        compute(!strcmp(what, "sleep") ? 0.05 : 0.005);
        for (int i = 0; i < three; i++) WAITS(MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD));
    } else {
        if (!strcmp(what, "sleep")) {
            struct itimerval once = {{0, 0}, {0, 5000}};
            setitimer(ITIMER_REAL, &once, NULL);
        }
        receive(what);
    }
}

static void *turns(void *what)
{
    for (int i = 0; i < TURNS; i++) turn(what);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    char path[4096];
    const char *what = argv[1];
    CHECK(argc == 3);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    world();
    signal(SIGALRM, on_alarm);
    if (!strcmp(what, "thread") && provided == MPI_THREAD_MULTIPLE) {
        pthread_t other;
        CHECK(pthread_create(&other, NULL, turns, (void *) what) == 0);
        CHECK(pthread_join(other, NULL) == 0);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(what, "alone")) {
        turns((void *) what);
    } else {
        for (int i = 0; i < TURNS; i++) {
            turn(what);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    snprintf(path, sizeof path, "%s-%d", argv[2], world_rank);
    FILE *file = fopen(path, "w");
    CHECK(file);
    fprintf(file, "%d %.0f %d %.0f %d %llu\n", calls, spent * 1e9, of_collectives, spent_for_collectives * 1e9, slept,
            had_no_processor);
    CHECK(fclose(file) == 0);
    MPI_Finalize();
    return 0;
}
