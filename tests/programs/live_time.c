/* live_time BARRIERS: the global time that the ranks see right after so many barriers, a millisecond or more apart:
 * each rank's smallest step from one to the next, and the largest difference to what rank 0 saw at the same barrier,
 * ns. -1 -1 without the tracer. */
#include "report.h"

#include <mpitrace.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int barriers = argc > 1 ? atoi(argv[1]) : 200;
    long long before = -1, least = -1, largest = -1;
    CHECK(mpitrace_global_time_ns() == -1);
    MPI_Init(&argc, &argv);
    world();
    for (int k = 0; k < barriers; k++) {
        MPI_Barrier(MPI_COMM_WORLD);
        long long now = mpitrace_global_time_ns(), first = now;
        MPI_Bcast(&first, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
        if (now >= 0) {
            long long difference = now > first ? now - first : first - now;
            if (difference > largest) largest = difference;
            if (before >= 0 && (least < 0 || now - before < least)) least = now - before;
            before = now;
        }
        usleep(1000);
    }
    report("%s %lld %lld", mpitrace_version() ? "traced" : "untraced", least, largest);
    MPI_Finalize();
    return 0;
}
