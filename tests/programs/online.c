/* online: a benchmark that stops by the rule of include/mpitrace.h.
 *
 * 1. Each rank asks about its own run times of MPI_Allreduce; the program's own reduction of the decisions, which is
 *    another operation, makes them stop together. At most ASKED repetitions.
 * 2. TOGETHER repetitions of MPI_Bcast on another communicator: the ranks reduce their run times to the largest of each
 *    repetition, and all judge the same numbers.
 *
 * Prints for each rank what it was told; "-1 ..." without the tracer. */
#include "mpitrace.h"
#include "report.h"

#define EVERY 10
#define ASKED 2000
#define UNTRACED 200
#define TOGETHER 500

static double ns[TOGETHER], longest[TOGETHER];

static void print(const char *what, int repetitions, int decision, const struct mpitrace_answer *answer)
{
    report("%s %d %d %d %lld %lld %lld %.3f %.3f %.3f %.9f", what, repetitions, decision, answer->warmup_over,
           (long long)answer->repetitions, (long long)answer->looked_at, (long long)answer->warmup_end,
           answer->median_ns, answer->lower_ns, answer->upper_ns, answer->error);
}

int main(int argc, char **argv)
{
    struct mpitrace_rule rule = {.minimum = 60, .maximum = ASKED, .error = 0.1};
    struct mpitrace_rule together = {.minimum = TOGETHER, .maximum = TOGETHER};
    struct mpitrace_rule senseless = {.error = -1};
    struct mpitrace_answer answer;
    double in[16] = {1}, out[16];
    int decision = 0, all = 0, k;
    MPI_Comm other;

    if (mpitrace_online("MPI_Allreduce", (uintptr_t)MPI_COMM_WORLD, &rule, &answer) != MPITRACE_UNKNOWN) return 3;
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (mpitrace_online("MPI_Allreduce", (uintptr_t)MPI_COMM_WORLD, &rule, &answer) != MPITRACE_UNKNOWN) return 4;

    for (k = 0; k < ASKED && all <= 0; k++) {
        MPI_Allreduce(in, out, 16, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if ((k + 1) % EVERY) continue;
        decision = mpitrace_online("MPI_Allreduce", (uintptr_t)MPI_COMM_WORLD, &rule, &answer);
        if (decision == MPITRACE_UNKNOWN && k + 1 >= UNTRACED) decision = MPITRACE_MAXIMUM;
        MPI_Allreduce(&decision, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    print("alone", k, decision, &answer);
    /* The last operation on the communicator is now the one of the decisions. */
    decision = mpitrace_online(NULL, (uintptr_t)MPI_COMM_WORLD, NULL, &answer);
    print("last", k / EVERY, decision, &answer);
    /* An operation that was measured before: from here on. */
    rule.first = k;
    MPI_Allreduce(in, out, 16, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    decision = mpitrace_online("MPI_Allreduce", 0, &rule, &answer);
    print("again", 0, decision, &answer);

    for (k = 0; k < TOGETHER; k++) MPI_Bcast(in, 4, MPI_DOUBLE, 0, other);
    int count = (int)mpitrace_run_times("MPI_Bcast", (uintptr_t)other, 0, ns, TOGETHER), least;
    MPI_Allreduce(&count, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(ns, longest, least, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    decision = mpitrace_judge(longest, (size_t)least, &together, &answer);
    print("together", least, decision, &answer);

    decision = mpitrace_online("MPI_Scan", 0, NULL, NULL);
    report("never called %d", decision);
    decision = mpitrace_online("MPI_Bcast", (uintptr_t)other, &senseless, NULL);
    report("senseless %d", decision);
    MPI_Comm_free(&other);
    MPI_Finalize();
    if (mpitrace_online("MPI_Bcast", 0, NULL, NULL) != MPITRACE_UNKNOWN) return 5;
    return 0;
}
