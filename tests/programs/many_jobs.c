/* many_jobs KIND STEPS: a small job, for tests/cluster/many_jobs.sh. In each step every rank computes UNITS pieces of fixed work
 * (half as much again where there is a file /run/slow, which makes a node slow however busy the machine is), then
 *   stencil     exchanges a row with its neighbours and agrees on a residual
 *   transpose   exchanges blocks with all ranks
 *   farm        gets its pieces from rank 0, one message each; then all meet in a barrier
 * The variable FATE: killed (rank 1 dies halfway), aborted (rank 2 calls MPI_Abort halfway), hung (the last rank stays away from a
 * collective halfway), lost (rank 1 computes three times as much). */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef UNITS
#define UNITS 20
#endif

enum { BLOCK = 512 };
static volatile double sink;
static long work = 100000;

static void compute(int units)
{
    double x = sink + 2.0; // no constant
    for (long i = 0; i < units * work; i++)
        x = x * 0.999999 + 1e-6;
    sink = x;
}

static void stencil(int units, int rank, int size)
{
    static double row[2][BLOCK], residual, all;
    compute(units);
    int up = (rank + 1) % size, down = (rank + size - 1) % size;
    MPI_Sendrecv(row[0], BLOCK, MPI_DOUBLE, up, 1, row[1], BLOCK, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    residual = row[1][0] + 1.0;
    MPI_Allreduce(&residual, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void transpose(int units, int rank, int size)
{
    static double from[64 * BLOCK], to[64 * BLOCK];
    if (size > 64)
        MPI_Abort(MPI_COMM_WORLD, 2);
    compute(units);
    from[0] = rank;
    MPI_Alltoall(from, BLOCK, MPI_DOUBLE, to, BLOCK, MPI_DOUBLE, MPI_COMM_WORLD);
}

static void farm(int units, int rank, int size)
{
    int task = 0;
    for (int piece = 0; piece < units; piece++) {
        if (rank == 0)
            for (int worker = 1; worker < size; worker++)
                MPI_Send(&piece, 1, MPI_INT, worker, 2, MPI_COMM_WORLD);
        else
            MPI_Recv(&task, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int rank, size, steps = atoi(argv[2]), units = UNITS;
    const char *kind = argv[1], *fate = getenv("FATE");
    if (!fate)
        fate = "";
    if (!access("/run/slow", F_OK))
        work += work / 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < steps; step++) {
        if (step == steps / 2 && !strcmp(fate, "killed") && rank == 1)
            raise(SIGKILL);
        if (step == steps / 2 && !strcmp(fate, "aborted") && rank == 2)
        {
            MPI_Abort(MPI_COMM_WORLD, 3);
            for (;;) // MPICH 5's can return before the launcher kills the job.
                pause();
        }
        if (step == steps / 2 && !strcmp(fate, "hung") && rank == size - 1)
            for (;;)
                pause();
        if (!strcmp(fate, "lost") && rank == 1)
            compute(2 * units);
        if (!strcmp(kind, "stencil"))
            stencil(units, rank, size);
        else if (!strcmp(kind, "transpose"))
            transpose(units, rank, size);
        else
            farm(units, rank, size);
    }
    MPI_Finalize();
    return 0;
}
