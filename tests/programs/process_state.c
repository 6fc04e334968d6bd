/* What a process has of its own and an MPI call may not change beyond what the library changes: errno after each of
 * many calls, what each signal does, and the signals that are blocked. All calls are on MPI_COMM_SELF. */
#include "report.h"

#include <errno.h>
#include <signal.h>

static int changed;

#define KEEPS(call)             \
    do {                        \
        errno = 4321;           \
        call;                   \
        changed += errno != 4321; \
    } while (0)

static void own(int signal)
{
    (void)signal;
}

/* A hash of what all signals do (the library's handlers as one, since they lie elsewhere in each process) and of the
 * mask. */
static unsigned long signals(void)
{
    unsigned long hash = 1;
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int number = 1; number < 32; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) != 0) continue;
        int kind = action.sa_handler == own ? 3 : 4;
        if (action.sa_handler == SIG_DFL) kind = 1;
        if (action.sa_handler == SIG_IGN) kind = 2;
        hash = hash * 31 + kind;
        hash = hash * 31 + (sigismember(&mask, number) == 1);
        hash = hash * 31 + (unsigned)action.sa_flags % 1009;
    }
    return hash;
}

int main(int argc, char **argv)
{
    int value = 1, sum = 0;
    unsigned long before, during, after;
    for (int i = 0; i < 4; i++) {
        const int handled[] = {SIGUSR2, SIGHUP, SIGWINCH, SIGURG};
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = own;
        action.sa_flags = SA_RESTART;
        sigaction(handled[i], &action, NULL);
    }
    before = signals();
    MPI_Init(&argc, &argv);
    world();
    during = signals();
    for (int i = 0; i < 30000; i++) KEEPS(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
    report("same operation: errno changed %d times", changed);
    char *many = calloc(1, 3000);
    changed = 0;
    for (int i = 0; i < 3000; i++) KEEPS(MPI_Bcast(many, i, MPI_CHAR, 0, MPI_COMM_SELF));
    report("other sizes: errno changed %d times", changed);
    free(many);
    changed = 0;
    for (int i = 0; i < 200; i++) {
        MPI_Request request;
        KEEPS(MPI_Ibarrier(MPI_COMM_SELF, &request));
        KEEPS(MPI_Wait(&request, MPI_STATUS_IGNORE));
        KEEPS(MPI_Pcontrol(i % 2));
    }
    MPI_Pcontrol(1);
    report("requests: errno changed %d times", changed);
    changed = 0;
    for (int i = 0; i < 200; i++) {
        MPI_Datatype pair;
        char name[20];
        int two[2] = {1, 2};
        KEEPS(MPI_Type_contiguous(2, MPI_INT, &pair));
        KEEPS(MPI_Type_commit(&pair));
        KEEPS(MPI_Bcast(two, 1, pair, 0, MPI_COMM_SELF));
        KEEPS(MPI_Type_free(&pair));
        sprintf(name, "name %d", i);
        KEEPS(MPI_Comm_set_name(MPI_COMM_SELF, name));
    }
    report("types and names: errno changed %d times", changed);
    report("signals: %lu", signals() == during ? during : 0);
    MPI_Finalize();
    after = signals();
    printf("signals before %lu, after %lu\n", before, after);
    return 0;
}
