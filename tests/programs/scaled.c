/* scaled strong|weak: a program whose work is sleep, so that it scales in the same way on any machine. In each of two
 * steps the ranks share a second (weak: each has 200 ms), then each in its turn is at something for 100 ms while the
 * others are in MPI_Barrier. So p ranks take 2 s / p + 0.2 s x p (weak: 0.4 s + 0.2 s x p). */
#include "report.h"

#include <unistd.h>

enum { STEPS = 2, SHARED_US = 1000000, EACH_US = 200000, TURN_US = 100000 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    int weak = argc > 1 && strcmp(argv[1], "weak") == 0;
    for (int step = 0; step < STEPS; step++) {
        usleep(weak ? EACH_US : SHARED_US / world_size);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int turn = 0; turn < world_size; turn++) {
            if (turn == world_rank) usleep(TURN_US);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    report("ranks %d", world_size);
    MPI_Finalize();
    return 0;
}
