/* The temperature of a plate: 2000 steps of Jacobi's method on 768 x 768 points. Rank 0 writes the middle row to a
 * file, after each step; with -DEVERY=100 after each hundredth. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef EVERY
#define EVERY 1
#endif
#define BLOCK 128 /* rows of a block; the blocks are dealt out to the ranks */
#define POINTS 768
#define STEPS 2000

/* The new temperatures of one block, and the sum of what has changed. */
static double relax(double (*to)[POINTS], double (*from)[POINTS], int rows)
{
    double changed = 0;
    for (int row = 1; row <= rows; row++)
        for (int column = 1; column < POINTS - 1; column++) {
            double neighbours =
                from[row - 1][column] + from[row + 1][column] + from[row][column - 1] + from[row][column + 1];
            to[row][column] = 0.25 * neighbours;
            changed += fabs(to[row][column] - from[row][column]);
        }
    return changed;
}

static void write_row(FILE *file, int step, const double *row)
{
    fprintf(file, "%d", step);
    for (int column = 0; column < POINTS; column++) fprintf(file, " %.4f", row[column]);
    fprintf(file, "\n");
}

int main(int argc, char **argv)
{
    int rank, ranks;
    double total = 0;
    FILE *file = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) file = fopen("heat.txt", "w");
    /* Each rank holds the whole plate; of a row that is not its own it gets what the neighbour has made of it. */
    double (*plate)[POINTS] = calloc(POINTS + 2, sizeof *plate), (*next)[POINTS] = calloc(POINTS + 2, sizeof *next);
    for (int row = 0; row < POINTS + 2; row++)
        for (int column = 0; column < POINTS; column++) plate[row][column] = next[row][column] = row ? 20 : 100;
    for (int step = 0; step < STEPS; step++) {
        double changed = 0;
        for (int block = rank; block < POINTS / BLOCK; block += ranks)
            changed += relax(next + block * BLOCK, plate + block * BLOCK, BLOCK);
        for (int block = 0; block < POINTS / BLOCK; block++) {
            MPI_Bcast(next[block * BLOCK + 1], POINTS, MPI_DOUBLE, block % ranks, MPI_COMM_WORLD);
            MPI_Bcast(next[block * BLOCK + BLOCK], POINTS, MPI_DOUBLE, block % ranks, MPI_COMM_WORLD);
        }
        MPI_Allreduce(&changed, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        double (*swap)[POINTS] = plate;
        plate = next;
        next = swap;
        if (file && step % EVERY == 0) write_row(file, step, plate[POINTS / 2]);
    }
    if (file) fclose(file);
    if (rank == 0) printf("%d steps, the last one changed %.6f degrees in all\n", STEPS, total);
    MPI_Finalize();
    return 0;
}
