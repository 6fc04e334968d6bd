/* Versions of one program that differ in one thing:
 *
 *   versions calls STEPS CALLS    in each step CALLS times MPI_Allreduce of 64 KiB, in smooth
 *   versions slow STEPS MS        in each step rank 1 computes for MS ms in refine_patch, the others for 2 ms
 *   versions broadcast STEPS      in each step MPI_Bcast of 1 MiB
 *   versions kernel STEPS         in each step a loop that takes as long as the compiler's options let it */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DOUBLES = 8192, BYTES = 1 << 20, CELLS = 1 << 16 };
static double in[DOUBLES], out[DOUBLES], cells[CELLS];
static char buffer[BYTES];

static void __attribute__((noinline)) smooth(int calls) {
    for (int i = 0; i < calls; i++)
        MPI_Allreduce(in, out, DOUBLES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Processor time of this thread, s. */
static double worked(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void __attribute__((noinline)) refine_patch(double seconds) {
    for (double until = worked() + seconds; worked() < until;)
        cells[0] += 1;
}

static inline double weighted(double left, double right) {
    return 0.25 * left + 0.75 * right;
}

static void __attribute__((noinline)) relax(void) {
    for (int sweep = 0; sweep < 20; sweep++)
        for (int i = 0; i + 1 < CELLS; i++)
            cells[i] = weighted(cells[i], cells[i + 1]);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3) {
        MPI_Finalize();
        return 2;
    }
    const int steps = atoi(argv[2]), number = argc > 3 ? atoi(argv[3]) : 0;
    for (int step = 0; step < steps; step++) {
        if (strcmp(argv[1], "calls") == 0)
            smooth(number);
        if (strcmp(argv[1], "slow") == 0) {
            refine_patch(rank == 1 ? 1e-3 * number : 2e-3);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        if (strcmp(argv[1], "broadcast") == 0)
            MPI_Bcast(buffer, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (strcmp(argv[1], "kernel") == 0) {
            relax();
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    if (rank == 0)
        printf("%g\n", out[0] + cells[CELLS / 2]);
    MPI_Finalize();
    return 0;
}
