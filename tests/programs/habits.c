/* habits HABIT: a program with one habit that costs time, or without one.
 *   small      400 MPI_Allreduce of 8 bytes in a row in each step
 *   krylov     two reductions in each step, each of which needs the work on the one before
 *   amounts    the last rank sends most in each MPI_Alltoallv
 *   equal      all send as much
 *   serial     rank 0 works alone in every tenth step
 *   chain      each rank works when the one before has
 *   moving     the ranks are late in turns, 20 steps each
 *   at_random  the late rank is chosen by chance
 *   around     half a second before MPI_Init and after MPI_Finalize */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 160, CALLS = 400, LARGE = 1 << 22, SMALL = 1 << 10 };

static volatile double sink;

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((noinline)) static void work(double seconds)
{
    double until = processor_time() + seconds;
    while (processor_time() < until)
        for (int i = 0; i < 1000; i++) sink += i;
}

__attribute__((noinline)) static void write_text(void)
{
    for (int i = 0; i < 6000000; i++) sink += i; /* text */
}

__attribute__((noinline)) static double sum_by_lines(void)
{
    double sum = 0, in = 1, out = 0;
    for (int k = 0; k < CALLS; k++) {
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* small */
        sum += out;
    }
    return sum;
}

static void small(void)
{
    static double in[CALLS], out[CALLS];
    work(1e-3);
    sink += sum_by_lines();
    work(1e-3);
    MPI_Allreduce(in, out, CALLS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void krylov(void)
{
    double in = 1, out = 0;
    for (int k = 0; k < 2; k++) {
        work(5e-4);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void amounts(int rank, int size, int equal)
{
    static char *sent, *received;
    int counts[64], places[64], from[64], at[64];
    if (sent == NULL) {
        sent = calloc((size_t)size, LARGE);
        received = calloc((size_t)size, LARGE);
    }
    for (int other = 0; other < size; other++) {
        counts[other] = equal || rank == size - 1 ? LARGE : SMALL;
        from[other] = equal || other == size - 1 ? LARGE : SMALL;
        places[other] = at[other] = other * LARGE;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Alltoallv(sent, counts, places, MPI_CHAR, received, from, at, MPI_CHAR, MPI_COMM_WORLD);
}

static void chain(int rank, int size)
{
    double in = 1, out = 0;
    if (rank > 0) MPI_Recv(&in, 1, MPI_DOUBLE, rank - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* chain */
    work(3e-3);
    if (rank + 1 < size) MPI_Send(&in, 1, MPI_DOUBLE, rank + 1, 7, MPI_COMM_WORLD);
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const char *habit = "";

static int is(const char *name) { return strcmp(habit, name) == 0; }

static void step(int rank, int size, int k)
{
    unsigned chance = (unsigned)k * 2654435761u >> 20;
    if (is("small")) {
        small();
        return;
    }
    if (is("krylov")) {
        krylov();
        return;
    }
    if (is("amounts") || is("equal")) {
        if (k % 4 == 0) amounts(rank, size, is("equal"));
        return;
    }
    if (is("chain")) chain(rank, size);
    if (is("serial") && rank == 0 && k % 10 == 9) write_text();
    if (is("moving") && rank == k / 20 % size) work(3e-3);
    if (is("at_random") && rank == (int)(chance % (unsigned)size)) work(3e-3);
    work(1e-3);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    if (argc > 1) habit = argv[1];
    if (is("around")) usleep(500000);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int k = 0; k < STEPS; k++) step(rank, size, k);
    MPI_Finalize();
    if (is("around")) usleep(500000);
    return 0;
}
