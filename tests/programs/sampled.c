/* sampled TURNS [kill]: on two ranks so many turns of an Allreduce, a Bcast on a copy of MPI_COMM_WORLD and, in every tenth,
 * an Ibarrier on it. Rank 0 sleeps before every eighth Allreduce. It prints the time that the ranks waited for each other in
 * the Allreduces and, for rank 0, in the Bcasts, s, by their own readings of one clock. With `kill` every rank ends by
 * SIGKILL, after both have come to the end. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv)
{
    int turns = argc > 1 ? atoi(argv[1]) : 1000, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* When each Allreduce was entered, then each Bcast. */
    double *enter = malloc(2 * turns * sizeof *enter), *both = malloc(2 * turns * sizeof *both), waited = 0;
    for (int turn = 0; turn < turns; turn++) {
        double in = rank, out;
        struct timespec pause = {0, 50000};
        if (rank == 0 && turn % 8 == 0) nanosleep(&pause, NULL);
        enter[turn] = seconds();
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        enter[turns + turn] = seconds();
        MPI_Bcast(&in, 1, MPI_DOUBLE, 0, copy);
        if (turn % 10 == 0) {
            MPI_Request request;
            MPI_Ibarrier(copy, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(copy);
    if (argc > 2 && !strcmp(argv[2], "kill")) raise(SIGKILL);
    MPI_Reduce(enter, both, 2 * turns, MPI_DOUBLE, MPI_SUM, 0, copy);
    for (int turn = 0; turn < 2 * turns; turn++) {
        double later = 2 * enter[turn] - both[turn];
        if (later > 0 || turn < turns) waited += later > 0 ? later : -later;
    }
    if (rank == 0) printf("waited %.6f\n", waited);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
