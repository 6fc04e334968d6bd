/* A benchmark's loop in the manner of OSU's, which mpitrace_enough ends. For each size: enough SIZE REPETITIONS ANSWER, of rank 0, once
 * all ranks have told it the same.
 *
 *   enough MOST RUN_TIME   MOST: the benchmark's own maximum. RUN_TIME: `measured`, or `noise`: what the rule is told is a series of
 *                          its own for each rank, the same in each run */
#include <mpi.h>
#include <mpitrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, ranks, most = argc > 1 ? atoi(argv[1]) : 1000, is_noise = argc > 2 && !strcmp(argv[2], "noise");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    static double send[1024], receive[1024];
    unsigned state = 12345u + 77u * (unsigned)rank;
    for (int size = 8; size <= 8192; size *= 32) {
        int i = 0, answer = 0;
        mpitrace_enough_start(MPI_COMM_WORLD);
        while (i < most && answer == 0) {
            double from = MPI_Wtime();
            MPI_Allreduce(send, receive, size / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            double took = MPI_Wtime() - from;
            state = state * 1664525u + 1013904223u;
            /* 40 that take twice as long, then 1000 to 1100. */
            if (is_noise) took = (1000 + (state >> 8) % 101) * (i < 40 ? 2.0 : 1.0);
            i++;
            answer = mpitrace_enough(MPI_COMM_WORLD, took);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        int told[2] = {i, answer}, least[2], largest[2];
        MPI_Reduce(told, least, 2, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
        MPI_Reduce(told, largest, 2, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
        struct mpitrace_measured found = {0, 0, 0, 0, 0, 0, 0};
        int is_known = mpitrace_enough_found(MPI_COMM_WORLD, &found) == 0;
        if (rank == 0 && memcmp(least, largest, sizeof least) == 0) {
            printf("enough %d %d %d\n", size, i, answer);
            if (is_noise && is_known)
                printf("found %ld %ld %.1f %d %d\n", found.repetitions, found.warmup, found.value, found.lower <= found.value,
                       found.value <= found.upper);
        }
    }
    /* A communicator of its own takes its measurement along. */
    MPI_Comm own;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    struct mpitrace_measured none;
    int before = mpitrace_enough_found(own, &none), answer = 0;
    for (int i = 0; i < 60 && answer == 0; i++) answer = mpitrace_enough(own, 5.0);
    MPI_Comm_free(&own);
    int of_none = mpitrace_enough(MPI_COMM_NULL, 1.0);
    if (rank == 0) printf("of equal ones: %d, none before: %d, of no communicator: %d\n", answer, before, of_none);
    MPI_Finalize();
    return 0;
}
