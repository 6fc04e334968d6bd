/* spills CALLS THREADS [WHAT]: THREADS threads on each rank, each with CALLS Allreduces on a copy of MPI_COMM_SELF that
 * is its own, and an Ibarrier on it that is started first and waited for last. Half-way, the first thread does WHAT:
 *   fork    a child is forked off, which begins and ends regions, and ends
 *   death   rank 0 ends by SIGKILL */
#include "mpitrace.h"
#include "report.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int calls;
static const char *what = "";

struct work {
    int number;
    MPI_Comm comm;
    double sum;
};

static void half_way(void)
{
    if (!strcmp(what, "death") && world_rank == 0) kill(getpid(), SIGKILL);
    if (strcmp(what, "fork")) return;
    pid_t child = fork();
    if (child == 0) {
        int region = mpitrace_region("in the child");
        for (int i = 0; i < 10000; i++) {
            mpitrace_region_begin(region);
            mpitrace_region_end(region);
        }
        _exit(0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void *work(void *argument)
{
    struct work *work = argument;
    MPI_Request request;
    MPI_Ibarrier(work->comm, &request);
    for (int i = 0; i < calls; i++) {
        double in = i, out;
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, work->comm);
        work->sum += out;
        if (i == calls / 2 && work->number == 0) half_way();
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : 1, provided;
    calls = argc > 1 ? atoi(argv[1]) : 1000;
    what = argc > 3 ? argv[3] : "";
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    world();
    struct work *all = calloc(threads, sizeof *all);
    pthread_t *others = calloc(threads, sizeof *others);
    for (int t = 0; t < threads; t++) {
        char name[32];
        all[t].number = t;
        MPI_Comm_dup(MPI_COMM_SELF, &all[t].comm);
        snprintf(name, sizeof name, "rank %d thread %d", world_rank, t);
        MPI_Comm_set_name(all[t].comm, name);
    }
    for (int t = 1; t < threads; t++) CHECK(pthread_create(&others[t], NULL, work, &all[t]) == 0);
    work(&all[0]);
    double sum = all[0].sum;
    for (int t = 1; t < threads; t++) {
        pthread_join(others[t], NULL);
        sum += all[t].sum;
    }
    for (int i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_WORLD);
    report("%.17g", sum);
    MPI_Finalize();
    return 0;
}
