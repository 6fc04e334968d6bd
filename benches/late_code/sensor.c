/* Rank 1 waits for a device in each step, in poll(2), while the other one is ready: `sensor 1`; `sensor 0` does not. */
#include <mpi.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEPS = 150, POINTS = 400000 };

static double field[POINTS];
static int ends[2];

__attribute__((noinline)) static void read_sensor(void)
{
    struct pollfd device = {.fd = ends[0], .events = POLLIN};
    poll(&device, 1, 12); /* late */
}

__attribute__((noinline)) static double smooth(void)
{
    double sum = 0;
    for (int again = 0; again < 4; again++)
        for (int k = 1; k < POINTS - 1; k++) sum += field[k] = (field[k - 1] + field[k] + field[k + 1] + 1) / 3;
    return sum;
}

int main(int argc, char **argv)
{
    int rank;
    double sum, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (pipe(ends) != 0) return 1;
    for (int step = 0; step < STEPS; step++) {
        if (argc > 1 && atoi(argv[1]) == 1 && rank == 1) read_sensor();
        sum = smooth();
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
