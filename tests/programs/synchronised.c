/* synchronised METHOD [REPETITIONS]: a benchmark of MPI_Allreduce whose ranks are synchronised by METHOD: none,
 * barrier, double, dissemination, window (of 5 ms), or round (a barrier, and a start that rank 0 has sent: ReproMPI's
 * round-time). All ranks are on one machine, and read one clock. Prints nothing that depends on time. */
#include "report.h"

#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void dissemination(void)
{
    int send = 1, receive;
    for (int distance = 1; distance < world_size; distance *= 2)
        MPI_Sendrecv(&send, 1, MPI_INT, (world_rank + distance) % world_size, 0, &receive, 1, MPI_INT,
            (world_rank - distance + world_size) % world_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Sleeps for most of the time: on a busy machine a process that has slept runs soon again, one that has not is descheduled. */
static void wait_for(double start)
{
    double sleep = start - now() - 0.0003;
    struct timespec time = {0, (long)(1e9 * sleep)};
    if (sleep > 0 && sleep < 1) nanosleep(&time, NULL);
    while (now() < start) {}
}

/* What rank 0 says, to all, by messages. */
static double told(double value)
{
    for (int rank = 1; rank < world_size && world_rank == 0; rank++)
        MPI_Send(&value, 1, MPI_DOUBLE, rank, 778, MPI_COMM_WORLD);
    if (world_rank != 0) MPI_Recv(&value, 1, MPI_DOUBLE, 0, 778, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return value;
}

int main(int argc, char **argv)
{
    const char *method = argc > 1 ? argv[1] : "none";
    int repetitions = argc > 2 ? atoi(argv[2]) : 200;
    double in = 1, out = 0, start;
    MPI_Init(&argc, &argv);
    world();
    MPI_Barrier(MPI_COMM_WORLD);
    start = told(now() + 0.02);
    for (int k = 0; k < repetitions; k++) {
        if (!strcmp(method, "barrier")) MPI_Barrier(MPI_COMM_WORLD);
        if (!strcmp(method, "double")) {
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        if (!strcmp(method, "dissemination")) dissemination();
        if (!strcmp(method, "window")) wait_for(start + 0.005 * k);
        if (!strcmp(method, "round")) {
            MPI_Barrier(MPI_COMM_WORLD);
            start = told(now() + 0.002);
            wait_for(start);
        }
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    report("%d repetitions, sum %g", repetitions, out);
    MPI_Finalize();
    return 0;
}
