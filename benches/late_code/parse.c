/* Rank 0 reads numbers from text, and the others wait for them in MPI_Bcast: a serial phase in each step.
 * `parse 1` has it, `parse 0` has numbers that are read already. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 150, NUMBERS = 100000, WIDTH = 12 };

static char text[NUMBERS * WIDTH + 1];
static double numbers[NUMBERS];

__attribute__((noinline)) static void read_numbers(void)
{
    char *place = text;
    for (int k = 0; k < NUMBERS; k++) numbers[k] = strtod(place, &place); /* late */
}

__attribute__((noinline)) static double solve(void)
{
    double sum = 0;
    for (int again = 0; again < 60; again++)
        for (int k = 0; k < NUMBERS; k++) sum += numbers[k] / (1 + k + again);
    return sum;
}

int main(int argc, char **argv)
{
    int rank;
    double sum = 0, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int k = 0; k < NUMBERS; k++) sprintf(text + k * WIDTH, "%11.4f ", k * 0.5);
    for (int step = 0; step < STEPS; step++) {
        if (argc > 1 && atoi(argv[1]) == 1 && rank == 0) read_numbers();
        MPI_Bcast(numbers, NUMBERS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        sum += solve();
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
