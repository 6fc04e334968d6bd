/* causes WHAT FOLDER [GROUP]: calls of MPI_Allreduce on two ranks, in which at known repetitions something is slow:
 *   late2, late60, late100   rank 1 computes for longer before 2, 60, 100 % of the calls;
 *   turns      one rank computes for longer before each call, each rank in its turn;
 *   stop       rank 1 is stopped before some calls, and continued by a process of its own;
 *   sleep, mutex   rank 1 sleeps, or waits for a mutex that a thread of its own holds, before some calls;
 *   quota      rank 1 computes for longer than the quota of the control group GROUP, a folder, allows before some calls;
 *   message    rank 0 receives a message of rank 1 before each call, and rank 1 computes for longer before it sends it;
 *   hog        a process spins on the processor of rank 1;
 *   migrate    rank 1 is moved to another processor before some calls;
 *   first      the first reduction on each rank takes 30 ms;
 *   touch      rank 1 receives into memory that it has not touched before, in some calls;
 *   two        rank 0 computes for longer before some calls, and rank 1 is stopped before others;
 *   none       nothing.
 * FOLDER/rank.N gets a line for each repetition, with what rank N itself knows of it: when it entered and left the call
 * (ns, a clock that both ranks share), for how long it was off its processor before the call and in it (ns), context
 * switches before and in it, page faults in it, the processor, and for how long it was held up by what is asked for (ns).
 * Rank 0 prints that all ended well. */
#define _GNU_SOURCE
#include "report.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REPETITIONS 400
/* Of the large messages: 256 pages. */
#define LARGE (1 << 18)

struct known {
    double enter, exit, off_before, off_inside, held_up;
    long switches_before, switches_inside, faults;
    int processor;
};

static struct known known[REPETITIONS];
static const char *what;

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

static int is(const char *name)
{
    return !strcmp(what, name);
}

static struct rusage usage(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage;
}

static long switches(struct rusage usage)
{
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Binds the calling thread to a processor; 0: it cannot be had. */
static int bind_to(int processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

static void bind_to_any(void)
{
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int processor = 0; processor < CPU_SETSIZE; processor++) CPU_SET(processor, &all);
    sched_setaffinity(0, sizeof all, &all);
}

/* Binds it to another processor than this one. */
static int bind_beside(int processor)
{
    int all = (int) sysconf(_SC_NPROCESSORS_CONF);
    for (int step = 1; step < all; step++)
        if (bind_to((processor + step) % all)) return 1;
    return 0;
}

/* Process of a rank that acts from outside: it continues the rank 8 ms after this one has asked for it, or spins. */
static volatile int *asked;

static pid_t helper(int processor)
{
    pid_t parent = getpid(), child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (is("hog")) {
        bind_to(processor);
        for (;;)
            ;
    }
    bind_beside(processor);
    for (;;) {
        usleep(200);
        if (!*asked) continue;
        usleep(8000);
        while (*asked) {
            kill(parent, SIGCONT);
            usleep(500);
        }
    }
}

static void be_stopped(void)
{
    *asked = 1;
    raise(SIGSTOP);
    *asked = 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int held;

static void *hold(void *argument)
{
    pthread_mutex_lock(&mutex);
    held = 1;
    usleep(8000);
    pthread_mutex_unlock(&mutex);
    return argument;
}

static void wait_for_mutex(void)
{
    pthread_t thread;
    held = 0;
    CHECK(pthread_create(&thread, NULL, hold, NULL) == 0);
    while (!held) usleep(10);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
}

/* Writes to a file of the control group. 0: it has none of this name. */
static int set(const char *group, const char *name, const char *value)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", group, name);
    FILE *file = fopen(path, "r+");
    return file && fprintf(file, "%s", value) > 0 && fclose(file) == 0;
}

static void set_quota(const char *group, const char *us)
{
    char value[64];
    snprintf(value, sizeof value, "%s 100000", us);
    CHECK(set(group, "cpu.max", value) || set(group, "cpu.cfs_quota_us", us));
}

static void slow_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    static int calls;
    (void) type;
    if (calls++ == 0) spin(30e6);
    for (int i = 0; i < *count; i++) ((int *) inout)[i] += ((int *) in)[i];
}

/* What happens to this rank before a repetition. */
static void happen(int k)
{
    static int move;
    if (is("turns") && k % 2 == world_rank) spin(500e3);
    if (world_rank == 1) {
        if (is("late2") && k % 50 == 25) spin(8e6);
        if (is("late60") && k % 5 < 3) spin(500e3);
        if (is("late100")) spin(300e3);
        if (is("message")) spin(300e3);
        if (is("sleep") && k % 50 == 25) usleep(8000);
        if (is("mutex") && k % 50 == 25) wait_for_mutex();
        if (is("quota") && k % 50 == 25) spin(40e6);
        if (is("stop") && k % 50 == 25) be_stopped();
        if (is("two") && k % 50 == 40) be_stopped();
        if (is("migrate") && k % 20 == 10 && !bind_beside(sched_getcpu())) move = 1;
    } else {
        if (is("two") && k % 50 == 25) spin(6e6);
    }
    CHECK(!move);
}

static int *fresh(void)
{
    int *pages = mmap(NULL, LARGE * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    madvise(pages, LARGE * sizeof(int), MADV_NOHUGEPAGE);
    return pages;
}

int main(int argc, char **argv)
{
    what = argc > 1 ? argv[1] : "none";
    const char *folder = argc > 2 ? argv[2] : ".";
    asked = mmap(NULL, sizeof *asked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    /* Each rank has one, since none knows before MPI_Init which it is; it ends with its parent. */
    int processor = sched_getcpu();
    pid_t child = is("hog") || is("stop") || is("two") ? helper(processor) : -1;
    const char *group = argc > 3 ? argv[3] : NULL;
    char number[16];
    snprintf(number, sizeof number, "%d", (int) getpid());
    if (is("quota")) CHECK(set(group, "cgroup.procs", number));
    MPI_Init(&argc, &argv);
    world();
    CHECK(world_size == 2);
    if (is("quota") && world_rank == 0) CHECK(set(group, "../cgroup.procs", number));
    if (child > 0 && world_rank == 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        child = -1;
    }
    /* Each rank on a processor of its own, so that nothing moves it but what is asked for. */
    int of_rank_1 = processor;
    MPI_Bcast(&of_rank_1, 1, MPI_INT, 1, MPI_COMM_WORLD);
    if (world_rank == 1) bind_to(processor);
    if (world_rank == 0 && is("migrate")) bind_to_any();
    if (world_rank == 0 && !is("migrate")) bind_beside(of_rank_1);

    MPI_Op op = MPI_SUM;
    if (is("first")) MPI_Op_create(slow_sum, 1, &op);
    int count = is("touch") ? LARGE : 4;
    int *in = fresh(), *out = fresh();
    memset(in, 1, LARGE * sizeof(int));
    memset(out, 1, LARGE * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    if (is("quota") && world_rank == 1) set_quota(group, "20000");

    uint32_t chance = 1;
    for (int k = 0; k < REPETITIONS; k++) {
        struct known *row = &known[k];
        double wall = now(CLOCK_MONOTONIC), ran = now(CLOCK_THREAD_CPUTIME_ID);
        struct rusage before = usage();
        /* One in eight, by a linear congruential generator: a period would be something that the calls have in common
         * by themselves. */
        chance = 1664525u * chance + 1013904223u;
        if (is("touch") && world_rank == 1 && chance >> 29 == 4) {
            munmap(out, LARGE * sizeof(int));
            out = fresh();
        }
        happen(k);
        row->held_up = now(CLOCK_MONOTONIC) - wall;
        spin(20e3);
        if (is("message") && world_rank == 1) MPI_Send(&k, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        if (is("message") && world_rank == 0) {
            int came;
            MPI_Recv(&came, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(came == k);
        }
        struct rusage between = usage();
        double entered = now(CLOCK_THREAD_CPUTIME_ID);
        row->enter = now(CLOCK_MONOTONIC);
        row->off_before = row->enter - wall - (entered - ran);
        CHECK(MPI_Allreduce(in, out, count, MPI_INT, op, MPI_COMM_WORLD) == MPI_SUCCESS);
        row->exit = now(CLOCK_MONOTONIC);
        row->off_inside = row->exit - row->enter - (now(CLOCK_THREAD_CPUTIME_ID) - entered);
        struct rusage after = usage();
        row->switches_before = switches(between) - switches(before);
        row->switches_inside = switches(after) - switches(between);
        row->faults = after.ru_minflt - between.ru_minflt;
        row->processor = sched_getcpu();
    }
    if (is("quota") && world_rank == 1) set_quota(group, "10000000");
    MPI_Barrier(MPI_COMM_WORLD);

    char path[4096];
    snprintf(path, sizeof path, "%s/rank.%d", folder, world_rank);
    FILE *file = fopen(path, "w");
    CHECK(file);
    for (int k = 0; k < REPETITIONS; k++) {
        struct known *row = &known[k];
        fprintf(file, "%.0f %.0f %.0f %.0f %ld %ld %ld %d %.0f\n", row->enter, row->exit, row->off_before,
                row->off_inside, row->switches_before, row->switches_inside, row->faults, row->processor, row->held_up);
    }
    CHECK(fclose(file) == 0);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    if (is("first")) MPI_Op_free(&op);
    report("done");
    MPI_Finalize();
    return 0;
}
