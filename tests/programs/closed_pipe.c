/* closed_pipe HOW: the standard error is a pipe that is closed at its other end, and the arrays of a tracer find no
 * room half-way, by a limit on the size of files. HOW: default, what SIGPIPE does by itself; handled, it is counted;
 * pending or raised, one is blocked and pending, for the process or for the thread, from before MPI_Init to after
 * MPI_Finalize. */
#include "report.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void count(int signal)
{
    handled += signal == SIGPIPE;
}

static int is_in(const sigset_t *set)
{
    return sigismember(set, SIGPIPE) == 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "default";
    int ends[2], changed = 0;
    double in = 1, out = 0;
    sigset_t mask, pending;
    struct rlimit limit, lower;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = strcmp(how, "default") == 0 ? SIG_DFL : count;
    sigaction(SIGPIPE, &action, NULL);
    int for_process = strcmp(how, "pending") == 0;
    if (for_process || strcmp(how, "raised") == 0) {
        sigemptyset(&mask);
        sigaddset(&mask, SIGPIPE);
        sigprocmask(SIG_BLOCK, &mask, NULL);
        if (for_process) kill(getpid(), SIGPIPE);
        else raise(SIGPIPE);
    }
    if (pipe(ends) != 0 || dup2(ends[1], 2) != 2) return 2;
    close(ends[0]);
    close(ends[1]);
    MPI_Init(&argc, &argv);
    /* Some libraries have their own way with it. */
    sigaction(SIGPIPE, &action, NULL);
    world();
    getrlimit(RLIMIT_FSIZE, &limit);
    lower = limit;
    lower.rlim_cur = 1;
    setrlimit(RLIMIT_FSIZE, &lower);
    for (int i = 0; i < 40000; i++) {
        errno = 4321;
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        changed += errno != 4321;
    }
    setrlimit(RLIMIT_FSIZE, &limit);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    sigpending(&pending);
    report("%g, errno changed %d times, blocked %d, pending %d, handled %d", out, changed, is_in(&mask),
           is_in(&pending), (int)handled);
    MPI_Finalize();
    sigpending(&pending);
    int still = is_in(&pending);
    sigemptyset(&mask);
    sigaddset(&mask, SIGPIPE);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    printf("pending %d, handled %d\n", still, (int)handled);
    return 0;
}
