/* progress: MPI_Iallreduce with work between start and wait, and a number of tests that changes from repetition to
 * repetition: none and no work at all, none, one, three, seven. The work is as long as WORK_US each time. Prints the
 * most tests of a repetition. */
#include "report.h"

#include <time.h>

#define REPETITIONS 100
#define COUNT 4096
#define WORK_US 2000

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

static void work(double us)
{
    double until = now_us() + us;
    while (now_us() < until) { }
}

int main(int argc, char **argv)
{
    static double in[COUNT], out[COUNT];
    static const int tests[] = {-1, 0, 1, 3, 7};
    MPI_Request request;
    int flag, most = 0;

    MPI_Init(&argc, &argv);
    world();
    for (int k = 0; k < REPETITIONS; k++) {
        int n = tests[k % 5];
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iallreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        flag = 0;
        for (int i = 0; i <= n; i++) {
            work((double)WORK_US / (n + 1));
            /* A test that finds it complete would end the measurement: the last part is work too. */
            if (i < n && !flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
        if (n > most) most = n;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int k = 0; k < REPETITIONS; k++) MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    report("%d", most);
    MPI_Finalize();
    return 0;
}
