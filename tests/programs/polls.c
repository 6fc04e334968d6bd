/* polls KIND WORK_US MS: rank 0 polls until rank 1, which sleeps for so many ms, has come, and computes for so long
 * between two polls, by its processor time; with a negative WORK_US it sleeps between them:
 *   test        MPI_Test of a receive;
 *   any         MPI_Testany of two receives, of which rank 1 sends one;
 *   iprobe      MPI_Iprobe of a message;
 *   ibarrier    MPI_Test of an MPI_Ibarrier;
 *   left        MPI_Test of a receive, ten times; then it computes for WORK_US and waits by MPI_Wait.
 * Rank 0 writes the polls, the time of all of them with what lies between, and the processor time of the work, ns, to
 * stderr. */
#define _GNU_SOURCE
#include "report.h"

#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static double worked;

/* Reading the clock takes as long as a poll: without work it is not read. */
static void work(long us)
{
    if (us == 0) return;
    double before = seconds(CLOCK_THREAD_CPUTIME_ID), now = before;
    if (us < 0) usleep((useconds_t) -us);
    while (now - before < 1e-6 * us) now = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (us > 0) worked += now - before;
}

int main(int argc, char **argv)
{
    int value = 0, other = 0, found = 0, index;
    long polls = 0, us = argc > 2 ? atol(argv[2]) : 0, ms = argc > 3 ? atol(argv[3]) : 100;
    const char *kind = argc > 1 ? argv[1] : "test";
    double begin;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    world();
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1) {
        usleep((useconds_t) ms * 1000);
        if (strcmp(kind, "ibarrier") == 0) {
            MPI_Ibarrier(MPI_COMM_WORLD, requests);
            MPI_Wait(requests, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        }
    } else if (world_rank == 0) {
        if (strcmp(kind, "ibarrier") == 0) MPI_Ibarrier(MPI_COMM_WORLD, requests);
        else if (strcmp(kind, "iprobe") != 0) MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, requests);
        if (strcmp(kind, "any") == 0) MPI_Irecv(&other, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, requests + 1);
        begin = seconds(CLOCK_MONOTONIC);
        for (;;) {
            polls++;
            if (strcmp(kind, "iprobe") == 0) MPI_Iprobe(1, 5, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
            else if (strcmp(kind, "any") == 0) MPI_Testany(2, requests, &index, &found, MPI_STATUS_IGNORE);
            else MPI_Test(requests, &found, MPI_STATUS_IGNORE);
            if (found || (strcmp(kind, "left") == 0 && polls == 10)) break;
            if (strcmp(kind, "left") != 0) work(us);
        }
        if (strcmp(kind, "left") == 0) work(us);
        fprintf(stderr, "polls %ld %.0f %.0f\n", polls, 1e9 * (seconds(CLOCK_MONOTONIC) - begin), 1e9 * worked);
        if (strcmp(kind, "left") == 0) MPI_Wait(requests, MPI_STATUS_IGNORE);
        if (strcmp(kind, "iprobe") == 0) MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (strcmp(kind, "any") == 0) {
            MPI_Cancel(requests + 1);
            MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
        }
    }
    report("%d %d", world_rank, value);
    MPI_Finalize();
    return 0;
}
