/* affinity: all ranks start on one processor and may run on all that they were given. Ends with 1 where a thread may run
 * on others after MPI_Init or MPI_Finalize than before it. Prints nothing. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>

static cpu_set_t before;

static int changed(void)
{
    cpu_set_t now;
    return sched_getaffinity(0, sizeof now, &now) != 0 || !CPU_EQUAL(&now, &before);
}

int main(int argc, char **argv)
{
    cpu_set_t first;
    int processor = 0, wrong;
    double in = 1, out;
    if (sched_getaffinity(0, sizeof before, &before) != 0) return 2;
    while (!CPU_ISSET(processor, &before)) processor++;
    CPU_ZERO(&first);
    CPU_SET(processor, &first);
    /* The second call leaves the thread where the first one has put it. */
    if (sched_setaffinity(0, sizeof first, &first) != 0 || sched_setaffinity(0, sizeof before, &before) != 0) return 2;
    MPI_Init(&argc, &argv);
    wrong = changed();
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong || changed();
}
