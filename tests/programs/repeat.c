/* repeat [N [EXIT_CODE]]: N Allreduces of one double on the world. */
#include "report.h"

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 10;
    double mine, sum, total = 0;
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < n; i++) {
        mine = world_rank + i;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    report("%.17g", total);
    MPI_Finalize();
    return argc > 2 ? atoi(argv[2]) : 0;
}
