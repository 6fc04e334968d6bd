/* `hogged SECONDS`: each rank is bound to a processor of its own, and computes between barriers for so long.
 * `hogged hog PROCESSOR SECONDS`: no rank, but a process called `backup` that takes this processor. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void spin(double until)
{
    while (now() < until) {
    }
}

static void bind_to(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set);
}

int main(int argc, char **argv)
{
    double end;
    int rank, goes_on = 1;
    if (argc > 3 && strcmp(argv[1], "hog") == 0) {
        prctl(PR_SET_NAME, "backup");
        bind_to(atoi(argv[2]));
        /* Where it is allowed: most of the time is taken by this one, whatever else runs there. */
        sched_setscheduler(0, SCHED_RR, &(struct sched_param){ .sched_priority = 1 });
        spin(now() + atof(argv[3]));
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 2) bind_to(rank);
    end = now() + atof(argv[1]);
    while (goes_on) {
        spin(now() + 0.01);
        goes_on = now() < end;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
