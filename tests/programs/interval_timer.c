/* interval_timer CALLS: collectives while a timer's signal comes every 0.3 ms, as a profiler's does; from before MPI_Init
 * until after MPI_Finalize. Interrupted system calls go on (SA_RESTART), as profilers ask for. Reports whether there were
 * signals. */
#include "report.h"

#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t signals;

static void handler(int number)
{
    (void)number;
    signals++;
}

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 100;
    double in, out, sum = 0;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < calls; i++) {
        in = i + world_rank;
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, i % 100 ? MPI_COMM_SELF : MPI_COMM_WORLD);
        sum += out;
    }
    report("%.17g, %s", sum, signals > 0 ? "interrupted" : "not interrupted");
    MPI_Finalize();
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}
