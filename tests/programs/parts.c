/* Ranks that know where their time goes: each writes to argv[2].RANK the processor time that it computed for and the time that
 * it spent in point-to-point calls that can wait, in ns. Rank 1 computes twice as long as the others. argv[1]: collectives,
 * halo (with messages by Sendrecv, too), messages (no collective at all), requests (the same, by Waitall), master (rank 0 has
 * the others compute), asleep (rank 1 sleeps before each collective). */
#include "report.h"
#include <time.h>

#define STEPS 60
#define COMPUTE_NS 1500000

static long long computed, waited;

static long long now(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void compute(long long ns)
{
    long long begin = now(CLOCK_THREAD_CPUTIME_ID), end;
    do end = now(CLOCK_THREAD_CPUTIME_ID); while (end - begin < ns);
    computed += end - begin;
}

static long long begin(void) { return now(CLOCK_MONOTONIC_RAW); }
static void end(long long begun) { waited += now(CLOCK_MONOTONIC_RAW) - begun; }

static void halo(int step, int by_requests)
{
    int left = (world_rank + world_size - 1) % world_size, right = (world_rank + 1) % world_size, got = 0;
    MPI_Request requests[2];
    if (by_requests) {
        MPI_Irecv(&got, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&step, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[1]);
    }
    long long begun = begin();
    if (by_requests) MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    else MPI_Sendrecv(&step, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    end(begun);
    CHECK(got == step);
}

static void master(void)
{
    int step = 0, done = 0;
    MPI_Status status;
    for (int left = STEPS; left > 0; left--) {
        if (world_rank == 0) {
            long long begun = begin();
            MPI_Recv(&done, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            MPI_Send(&left, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
            end(begun);
        } else if ((left - 1) % (world_size - 1) == world_rank - 1) {
            compute(2 * COMPUTE_NS);
            long long begun = begin();
            MPI_Send(&left, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
            MPI_Recv(&step, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            end(begun);
        }
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    world();
    double mine = 1, sum;
    if (strcmp(what, "master") == 0) {
        master();
    } else {
        int messages = strcmp(what, "messages") == 0, requests = strcmp(what, "requests") == 0;
        for (int step = 0; step < STEPS; step++) {
            compute(COMPUTE_NS * (1 + (world_rank == 1)));
            if (strcmp(what, "asleep") == 0 && world_rank == 1) nanosleep(&(struct timespec){0, 3000000}, NULL);
            if (messages || requests || strcmp(what, "halo") == 0) halo(step, requests);
            if (!messages && !requests) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", argc > 2 ? argv[2] : "/dev/null", world_rank);
    FILE *file = fopen(name, "w");
    if (file != NULL) {
        fprintf(file, "%lld %lld\n", computed, waited);
        fclose(file);
    }
    MPI_Finalize();
    return 0;
}
