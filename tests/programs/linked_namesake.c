/* Calls a function of other_tool.c, which is in a library named as the tracer is. */
#include "report.h"

int other_tool(int value);

int main(int argc, char **argv)
{
    int sum = 0;
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < 5; i++) MPI_Allreduce(&world_size, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    report("sum %d", other_tool(sum));
    MPI_Finalize();
    return 0;
}
