/* Each rank prints the system's two clocks before and after each of its barriers. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

#define BARRIERS 20

static long long now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char **argv)
{
    long long stamps[BARRIERS][4], all[BARRIERS][4];
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int turn = 0; turn < BARRIERS; turn++) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
        stamps[turn][0] = now(CLOCK_REALTIME);
        stamps[turn][1] = now(CLOCK_MONOTONIC_RAW);
        MPI_Barrier(MPI_COMM_WORLD);
        stamps[turn][2] = now(CLOCK_REALTIME);
        stamps[turn][3] = now(CLOCK_MONOTONIC_RAW);
    }
    if (rank)
        MPI_Send(stamps, BARRIERS * 4, MPI_LONG_LONG, 0, 0, MPI_COMM_WORLD);
    for (int from = 0; rank == 0 && from < size; from++) {
        if (from)
            MPI_Recv(all, BARRIERS * 4, MPI_LONG_LONG, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        long long (*of)[4] = from ? all : stamps;
        for (int turn = 0; turn < BARRIERS; turn++)
            printf("%d %lld %lld %lld %lld\n", from, of[turn][0], of[turn][1], of[turn][2], of[turn][3]);
    }
    MPI_Finalize();
    return 0;
}
