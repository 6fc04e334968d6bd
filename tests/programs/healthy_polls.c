/* healthy_polls WHICH SECONDS: a right program of three ranks, of which rank 1 polls for about so many seconds. Rank 2
 * waits for it in a barrier, and rank 0 too, after it has sent what rank 1 polls, if it does: each 0.1 s. Each rank
 * says on stderr what its longest step took, between two polls or from one piece of work to the next. */
#include "report.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define W MPI_COMM_WORLD

static double began, step_began, longest, seconds;
static volatile int there;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void step_took(double time)
{
    if (time > longest) longest = time;
}

static int again(void)
{
    double here = now();
    step_took(here - step_began);
    step_began = here;
    return here - began < seconds;
}

static void compute(double time)
{
    for (double until = now() + time; now() < until;) {
    }
}

/* What a second thread does until the time is over: it computes, or sleeps and computes a little. */
static void *helper(void *sleeps)
{
    while (now() - began < seconds) {
        if (*(int *)sleeps) usleep(50000);
        compute(0.001);
    }
    there = 1;
    return NULL;
}

static void iprobe(int from)
{
    int value, found = 0;
    MPI_Status status;
    while (!found) MPI_Iprobe(from, 3, W, &found, &status);
    MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 3, W, MPI_STATUS_IGNORE);
}

static void improbe(void)
{
    int value, found = 0;
    MPI_Message message;
    while (!found) MPI_Improbe(MPI_ANY_SOURCE, 3, W, &found, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

/* Receives one message, tested in a way; another one never comes. */
static void test(char way)
{
    int value, other, found = 0, index, indices[2];
    MPI_Request q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Irecv(&value, 1, MPI_INT, 0, 3, W, q);
    if (way == 'y' || way == 's') MPI_Irecv(&other, 1, MPI_INT, 2, 8, W, q + 1);
    while (!found)
        switch (way) {
        case 'y': MPI_Testany(2, q, &index, &found, MPI_STATUS_IGNORE); break;
        case 's': MPI_Testsome(2, q, &found, indices, MPI_STATUSES_IGNORE); break;
        case 'l': MPI_Testall(2, q, &found, MPI_STATUSES_IGNORE); break;
        case 'g': MPI_Request_get_status(q[0], &found, MPI_STATUS_IGNORE); break;
        default: MPI_Test(q, &found, MPI_STATUS_IGNORE);
        }
    if (way == 'g') MPI_Wait(q, MPI_STATUS_IGNORE);
    if (q[1] != MPI_REQUEST_NULL) {
        MPI_Cancel(q + 1);
        MPI_Wait(q + 1, MPI_STATUS_IGNORE);
    }
}

/* Polls what never comes, and does something between two polls or after so many. */
static void between(double work, int every, double rests, int is_test)
{
    int value, found;
    MPI_Request q;
    double worked = now();
    if (is_test) MPI_Irecv(&value, 1, MPI_INT, 0, 8, W, &q);
    for (long k = 1; again(); k++) {
        if (is_test) MPI_Test(&q, &found, MPI_STATUS_IGNORE);
        else MPI_Iprobe(MPI_ANY_SOURCE, 8, W, &found, MPI_STATUS_IGNORE);
        if (k % every == 0) {
            step_took(now() - worked);
            compute(work);
            worked = now();
        }
        if (rests > 0) usleep((useconds_t)(1e6 * rests));
    }
    step_took(now() - worked);
    if (is_test) {
        MPI_Cancel(&q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
}

/* Polls until another thread has done its work. */
static void threaded(int sleeps)
{
    int found;
    pthread_t thread;
    pthread_create(&thread, NULL, helper, &sleeps);
    while (!there) {
        MPI_Iprobe(MPI_ANY_SOURCE, 8, W, &found, MPI_STATUS_IGNORE);
        again();
    }
    pthread_join(thread, NULL);
}

/* The names of those to which rank 0 sends begin with "fed". */
int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "fed_iprobe";
    int value = 0, fed = strncmp(which, "fed", 3) == 0, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    world();
    MPI_Barrier(W);
    seconds = argc > 2 ? atof(argv[2]) : 5;
    began = step_began = now();
#define IS(name) (!strcmp(which, name))
    if (fed && world_rank < 2) {
        for (int k = 0; k < 10 * seconds; k++) {
            if (world_rank == 0) {
                usleep(100000);
                MPI_Send(&value, 1, MPI_INT, 1, 3, W);
            } else if (IS("fed_iprobe")) iprobe(0);
            else if (IS("fed_iprobe_of_any")) iprobe(MPI_ANY_SOURCE);
            else if (IS("fed_improbe")) improbe();
            else if (IS("fed_test")) test('t');
            else if (IS("fed_testany")) test('y');
            else if (IS("fed_testsome")) test('s');
            else if (IS("fed_testall")) test('l');
            else if (IS("fed_get_status")) test('g');
            else MPI_Abort(W, 2);
            again();
        }
    } else if (world_rank == 1) {
        if (IS("work_10_us")) between(1e-5, 1, 0, 0);
        else if (IS("work_100_us")) between(1e-4, 1, 0, 0);
        else if (IS("work_10_ms")) between(1e-2, 1, 0, 1);
        else if (IS("work_each_8")) between(1e-4, 8, 0, 0);
        else if (IS("work_each_16")) between(1e-4, 16, 0, 1);
        else if (IS("work_each_64")) between(5e-3, 64, 0, 1);
        else if (IS("work_each_100000")) between(2e-2, 100000, 0, 0);
        else if (IS("rest_1_ms")) between(2e-5, 1, 1e-3, 0);
        else if (IS("rest_20_ms")) between(2e-5, 1, 2e-2, 1);
        else if (IS("rest_and_work")) between(1e-4, 4, 1e-3, 1);
        else if (IS("thread_that_computes")) threaded(0);
        else if (IS("thread_that_sleeps")) threaded(1);
        else MPI_Abort(W, 2);
    }
    MPI_Barrier(W);
    fprintf(stderr, "longest step of a rank: %.2f s\n", longest);
    MPI_Finalize();
    return 0;
}
