/* A sampling profiler within the program: a timer of processor time interrupts it every 10 ms, and the handler unwinds
 * the stack. (Every millisecond, a fork within Open MPI's MPI_Init never ends on a slow machine: it begins anew after
 * each signal.) */
#define _GNU_SOURCE
#include "report.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t samples, frames;

static void sample(int signal)
{
    void *stack[64];
    (void)signal;
    samples++;
    frames += backtrace(stack, 64);
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = sample, .sa_flags = SA_RESTART}, now;
    struct itimerval every = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
    void *stack[64];
    long total = 0;
    /* The unwinder is loaded outside of the handler. */
    frames = backtrace(stack, 64);
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < 40000 || samples < 30; i++) {
        int mine = i, sum;
        /* How many there are beyond the 40000 is for the clock to say: those are not collective. */
        if (i < 40000) MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF), total += sum;
    }
    for (int i = 0; i < 200; i++) MPI_Barrier(MPI_COMM_WORLD);
    sigaction(SIGPROF, NULL, &now);
    CHECK(now.sa_handler == sample && frames > 0);
    report("total %ld, %s", total, samples >= 30 ? "sampled" : "not sampled");
    MPI_Finalize();
    setitimer(ITIMER_PROF, &never, NULL);
    return 0;
}
