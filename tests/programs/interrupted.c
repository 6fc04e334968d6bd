/* interrupted WHAT FILE [GROUP]: what the operating system does to rank 1, which writes what it knows of it to FILE:
 *   hog       a process that spins on the same processor, for the time of many calls on MPI_COMM_SELF;
 *   sleep     a sleep of 20 ms before each of ten calls on MPI_COMM_WORLD;
 *   quota     ranks that spin, in the control group GROUP, which has a twentieth of a processor meanwhile;
 *   inside    a sleep of 5 ms in the reduction of each of ten calls;
 *   long      a sleep of 3 s before the first of ten calls on MPI_COMM_WORLD;
 *   migrate   a move to another processor before each of ten calls on MPI_COMM_SELF.
 * FILE gets the thread's context switches and its time off the processor in ns between the first call and the last, and
 * the moves that were made. Rank 0 prints that all ended well. */
#define _GNU_SOURCE
#include "report.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static void spin(double ns)
{
    double end = now(CLOCK_MONOTONIC) + ns;
    while (now(CLOCK_MONOTONIC) < end)
        ;
}

static void sleeping_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    usleep(5000);
    for (int i = 0; i < *count; i++) ((int *) inout)[i] += ((int *) in)[i];
}

/* Moves to the allowed processor behind this one; 0: there is none. */
static int move(const cpu_set_t *allowed)
{
    int here = sched_getcpu();
    for (int step = 1; step < CPU_SETSIZE; step++) {
        int next = (here + step) % CPU_SETSIZE;
        if (next == here || !CPU_ISSET(next, allowed)) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(next, &one);
        return sched_setaffinity(0, sizeof one, &one) == 0;
    }
    return 0;
}

/* Gives a control group so many percent of a processor. */
static void set_quota(const char *group, int percent)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/cpu.max", group);
    FILE *file = fopen(path, "r+");
    if (file) {
        CHECK(fprintf(file, "%d 100000", percent * 1000) > 0);
    } else {
        snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", group);
        file = fopen(path, "w");
        CHECK(file && fprintf(file, "%d", percent * 1000) > 0);
    }
    CHECK(fclose(file) == 0);
}

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *file = argc > 2 ? argv[2] : "/dev/null";
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    /* Both ranks have one, so that no rank need know before MPI_Init which it is. It shares the processor that its parent
     * is bound to below, and ends with it. */
    pid_t hog = -1;
    int processor = sched_getcpu();
    if (!strcmp(what, "hog") && (hog = fork()) == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        sched_setaffinity(0, sizeof one, &one);
        for (;;)
            ;
    }
    if (!strcmp(what, "quota")) {
        char path[4096];
        snprintf(path, sizeof path, "%s/cgroup.procs", argv[3]);
        FILE *group = fopen(path, "w");
        CHECK(group && fprintf(group, "%d\n", (int) getpid()) > 0 && fclose(group) == 0);
    }
    MPI_Init(&argc, &argv);
    world();
    if (hog > 0 && world_rank != 1) kill(hog, SIGKILL);
    if (hog > 0 && world_rank == 1) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    }
    MPI_Op op;
    MPI_Op_create(sleeping_sum, 1, &op);
    int in = 1, out, moves = 0;

    if (!strcmp(what, "quota") && world_rank == 1) set_quota(argv[3], 5);
    MPI_Barrier(MPI_COMM_SELF);
    long before = switches();
    double wall = now(CLOCK_MONOTONIC), ran = now(CLOCK_THREAD_CPUTIME_ID);
    if (!strcmp(what, "quota") || (!strcmp(what, "hog") && world_rank == 1)) {
        for (double end = now(CLOCK_MONOTONIC) + 1e9; now(CLOCK_MONOTONIC) < end;) {
            MPI_Barrier(MPI_COMM_SELF);
            spin(20e3);
        }
    }
    for (int k = 0; k < 10 && strcmp(what, "hog") && strcmp(what, "quota"); k++) {
        if (!strcmp(what, "sleep") || !strcmp(what, "long")) {
            if (world_rank == 1 && what[0] == 's') usleep(20000);
            if (world_rank == 1 && what[0] == 'l' && k == 0) sleep(3);
            MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        } else if (!strcmp(what, "inside")) {
            MPI_Allreduce(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD);
        } else if (world_rank == 1) {
            moves += move(&allowed);
            MPI_Barrier(MPI_COMM_SELF);
        }
    }
    wall = now(CLOCK_MONOTONIC) - wall;
    ran = now(CLOCK_THREAD_CPUTIME_ID) - ran;
    long counted = switches() - before;
    if (!strcmp(what, "quota") && world_rank == 1) set_quota(argv[3], 10000);
    MPI_Barrier(MPI_COMM_SELF);

    if (world_rank == 1) {
        FILE *witness = fopen(file, "w");
        CHECK(witness);
        fprintf(witness, "%ld %.0f %d\n", counted, wall - ran, moves);
        fclose(witness);
        if (hog > 0) kill(hog, SIGKILL);
    }
    if (hog > 0) waitpid(hog, NULL, 0);
    MPI_Op_free(&op);
    report("done");
    MPI_Finalize();
    return 0;
}
