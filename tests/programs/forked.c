/* forked: a region, with a child that does the same for itself and ends. */
#include "mpitrace.h"
#include "report.h"

#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    int region = mpitrace_region("before the fork and after"), counter = mpitrace_counter("counted", NULL);
    for (int k = 0; k < 3; k++) {
        mpitrace_region_begin(region);
        mpitrace_add(counter, 1);
        pid_t child = k == 1 ? fork() : -1;
        if (child == 0) {
            mpitrace_add(counter, 100);
            mpitrace_region_end(region);
            for (int i = 0; i < 10; i++) {
                mpitrace_region_begin(region);
                mpitrace_add(counter, 100);
                mpitrace_region_end(region);
            }
            _exit(7);
        }
        int status = 7 << 8;
        if (child > 0) waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        mpitrace_region_end(region);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    report("done");
    MPI_Finalize();
    return 0;
}
