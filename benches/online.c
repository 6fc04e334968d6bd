/* What asking costs: 10000 calls of MPI_Allreduce on MPI_COMM_SELF, then many questions with nothing new to look at,
 * and a question after each call. Prints ns: two bare time stamps, a question, a call, a call with a question. */
#include "mpitrace.h"

#include <mpi.h>
#include <stdio.h>
#include <time.h>

#define CALLS 10000
#define ASKED 1000000

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static void call(void)
{
    double in = 1, out;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

int main(int argc, char **argv)
{
    /* Never enough: all looks up to the maximum. */
    struct mpitrace_rule rule = {.minimum = 50, .error = 1e-9};
    double from, stamps, question, calls, both;
    int decision = 0;

    MPI_Init(&argc, &argv);
    from = now();
    for (int i = 0; i < ASKED; i++) (void)now();
    stamps = 2 * (now() - from) / ASKED;
    for (int i = 0; i < CALLS; i++) call();
    from = now();
    for (int i = 0; i < CALLS; i++) call();
    calls = (now() - from) / CALLS;
    decision |= mpitrace_online("MPI_Allreduce", (uintptr_t)MPI_COMM_SELF, &rule, NULL);
    from = now();
    for (int i = 0; i < ASKED; i++)
        decision |= mpitrace_online("MPI_Allreduce", (uintptr_t)MPI_COMM_SELF, &rule, NULL);
    question = (now() - from) / ASKED;
    rule.first = 2 * CALLS;
    from = now();
    for (int i = 0; i < CALLS; i++) {
        call();
        decision |= mpitrace_online("MPI_Allreduce", (uintptr_t)MPI_COMM_SELF, &rule, NULL);
    }
    both = (now() - from) / CALLS;
    MPI_Finalize();
    printf("%.1f %.1f %.1f %.1f\n", stamps, question, calls, both);
    return decision < 0;
}
