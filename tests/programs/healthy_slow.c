/* healthy_slow WHICH SECONDS: a program that is slow in one way or another for about so many seconds, and ends. No rank
 * stays in one place for long: every step takes some 0.2 s. Each rank says on stderr what its longest step took. */
#include "report.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP 0.2

static double began, step_began, longest, seconds;
static int value[4], sum[4];
static MPI_Comm other;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

/* A step has ended: true as long as there is time for another. Rank 0 decides it for those that step together. */
static void stepped(void)
{
    double here = now();
    if (here - step_began > longest) longest = here - step_began;
    step_began = here;
}

static int again(MPI_Comm comm)
{
    int more = now() - began < seconds;
    MPI_Bcast(&more, 1, MPI_INT, 0, comm);
    stepped();
    return more;
}

static void compute(double time)
{
    double until = now() + time;
    while (now() < until) {
    }
}

static void rest(double time)
{
    usleep((useconds_t)(1e6 * time));
}

/* Rank 1 computes for long, the others wait for it. */
static void computing(void)
{
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) compute(STEP);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Rank 1 sleeps. */
static void sleeping(void)
{
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP);
        MPI_Allreduce(value, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Another rank is late each time. */
static void rotating(void)
{
    for (int k = 0; again(MPI_COMM_WORLD); k++) {
        if (world_rank == k % world_size) rest(STEP);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Ranks have shares of very different size. */
static void imbalanced(void)
{
    while (again(MPI_COMM_WORLD)) {
        compute(STEP * world_rank / world_size);
        MPI_Allreduce(value, sum, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
}

static void slow_sum(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)type;
    rest(STEP / 2);
    for (int k = 0; k < *count; k++) ((int *)out)[k] += ((int *)in)[k];
}

/* The operator of a reduction takes its time: all ranks are inside. */
static void reduction(void)
{
    MPI_Op op;
    MPI_Op_create(slow_sum, 1, &op);
    while (again(MPI_COMM_WORLD)) MPI_Allreduce(value, sum, 4, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
}

/* Ranks 2 and above are done and wait in a barrier, while 0 works off messages of 1 one after the other. */
static void master(void)
{
    int more = 1;
    while (world_rank == 0 && more) {
        MPI_Recv(&more, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        stepped();
    }
    while (world_rank == 1 && more) {
        rest(STEP / 4);
        more = now() - began < seconds;
        MPI_Send(&more, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        stepped();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The same, where nobody waits in a collective call meanwhile, and 0 asks whether there is a message. */
static void probing(void)
{
    int more = 1;
    while (world_rank == 0 && more) {
        int there = 0;
        while (!there) MPI_Iprobe(1, 3, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        MPI_Recv(&more, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        stepped();
    }
    while (world_rank == 1 && more) {
        rest(STEP);
        more = now() - began < seconds;
        MPI_Send(&more, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        stepped();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A token goes from rank to rank, each of which keeps it for a while. */
static void ring(void)
{
    int next = (world_rank + 1) % world_size, before = (world_rank + world_size - 1) % world_size, more = 1;
    while (more) {
        if (world_rank > 0) MPI_Recv(&more, 1, MPI_INT, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (world_rank == 0) more = now() - began < seconds;
        rest(STEP / 2);
        MPI_Send(&more, 1, MPI_INT, next, 4, MPI_COMM_WORLD);
        if (world_rank == 0) MPI_Recv(&more, 1, MPI_INT, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        stepped();
    }
}

/* A non-blocking call, tested while there is other work. */
static void testing(void)
{
    while (again(MPI_COMM_WORLD)) {
        MPI_Request request;
        int done = 0;
        if (world_rank == 1) rest(STEP);
        MPI_Iallreduce(value, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        while (!done) {
            rest(STEP / 20);
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
    }
}

/* A non-blocking call, waited for. */
static void waiting(void)
{
    while (again(MPI_COMM_WORLD)) {
        MPI_Request request;
        if (world_rank == 1) compute(STEP);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Communicators are made and freed, slowly. */
static void splitting(void)
{
    while (again(MPI_COMM_WORLD)) {
        MPI_Comm part;
        if (world_rank == 1) rest(STEP);
        MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &part);
        MPI_Barrier(part);
        MPI_Comm_free(&part);
    }
}

/* Calls on two communicators in turn. */
static void two(void)
{
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP / 2);
        MPI_Barrier(other);
        if (world_rank == 0) rest(STEP / 2);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* The root of broadcasts is ahead of the others, which are slow. */
static void ahead(void)
{
    while (again(other)) {
        if (world_rank != 0) rest(STEP);
        for (int k = 0; k < 5; k++) MPI_Bcast(value, 4, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* The root of gathers is late. */
static void gathering(void)
{
    static int all[1024];
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 0) rest(STEP);
        MPI_Gather(value, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* Fences of a window, to which one rank comes late. */
static void window(void)
{
    MPI_Win win;
    MPI_Win_create(value, sizeof value, sizeof *value, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP);
        MPI_Win_fence(0, win);
    }
    MPI_Win_free(&win);
}

/* Recording is paused, and calls go on slowly. */
static void paused(void)
{
    MPI_Pcontrol(0);
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Pcontrol(1);
}

/* Even ranks are quick among themselves, the odd ones slow. */
static void halves(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
    while (again(half)) {
        if (world_rank % 2) rest(STEP);
        MPI_Barrier(half);
    }
    MPI_Comm_free(&half);
}

/* A process that stops rank 1 and lets it go on. */
static pid_t stopper;

static void stopping(void)
{
    while (again(MPI_COMM_WORLD)) {
        compute(STEP / 4);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void *work(void *nothing)
{
    (void)nothing;
    compute(STEP);
    return NULL;
}

/* A thread of rank 1 works, and the one that calls MPI waits for it. */
static void threads(void)
{
    while (again(MPI_COMM_WORLD)) {
        pthread_t worker;
        if (world_rank == 1 && pthread_create(&worker, NULL, work, NULL) == 0) pthread_join(worker, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* A rank writes to a file for long. */
static void writing(void)
{
    FILE *file = tmpfile();
    while (again(MPI_COMM_WORLD)) {
        double until = now() + STEP;
        while (world_rank == 1 && file && now() < until) {
            rewind(file);
            fwrite(sum, sizeof sum, 1, file);
            fflush(file);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Rank 1 comes late to MPI_Finalize. */
static void finalizing(void)
{
    if (world_rank == 1) rest(2 * STEP);
}

static const struct {
    const char *name;
    void (*run)(void);
} programs[] = {
    {"computing", computing}, {"sleeping", sleeping}, {"rotating", rotating},   {"imbalanced", imbalanced},
    {"reduction", reduction}, {"master", master},     {"probing", probing},     {"ring", ring},
    {"testing", testing},     {"waiting", waiting},   {"splitting", splitting}, {"two", two},
    {"ahead", ahead},         {"gathering", gathering}, {"window", window},     {"paused", paused},
    {"halves", halves},       {"stopping", stopping}, {"threads", threads},     {"writing", writing},
    {"finalizing", finalizing},
};

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";
    seconds = argc > 2 ? atof(argv[2]) : 5;
    size_t found = 0, all = sizeof programs / sizeof *programs;
    while (found < all && strcmp(programs[found].name, which)) found++;
    if (programs[found % all].run == stopping) {
        pid_t parent = getpid();
        stopper = fork();
        if (stopper == 0) {
            for (double until = now() + seconds; now() < until;) {
                rest(STEP);
                kill(parent, SIGSTOP);
                rest(STEP);
                kill(parent, SIGCONT);
            }
            _exit(0);
        }
    }
    MPI_Init(&argc, &argv);
    world();
    CHECK(found < all);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Barrier(MPI_COMM_WORLD);
    began = step_began = now();
    programs[found].run();
    if (stopper > 0) {
        int status;
        waitpid(stopper, &status, 0);
    }
    fprintf(stderr, "longest step of a rank: %.3f s\n", longest);
    MPI_Finalize();
    return 0;
}
