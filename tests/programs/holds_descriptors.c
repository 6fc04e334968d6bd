/* holds_descriptors WHEN CALLS: takes all descriptors that there are, "first" or "last", before or behind so many calls,
 * and keeps them to its end. */
#include "report.h"

#include <unistd.h>

static void take_all(void)
{
    while (dup(0) >= 0) continue;
}

int main(int argc, char **argv)
{
    int one = 1, sum = 0, total = 0, calls;
    if (argc < 3) return 2;
    calls = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    world();
    /* What the library opens for its messages is open then. */
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    report("%d ranks", sum);
    if (!strcmp(argv[1], "first")) take_all();
    for (int i = 0; i < calls; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    if (!strcmp(argv[1], "last")) take_all();
    report("total %d", total);
    MPI_Finalize();
    return 0;
}
