/* A thread of each of 2 ranks makes all collective calls, and the thread that called MPI_Init waits for it: 20 times
 * MPI_Allreduce, before which the thread of rank 1 computes for 10 ms of its own processor time. Each rank prints
 * `thread` with the ns that its thread was in MPI_Allreduce, and the ns that it computed before it. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static int rank;

static double ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return 1e9 * now.tv_sec + now.tv_nsec;
}

static void *work(void *unused) {
    double in_calls = 0, computed = 0;
    for (int i = 0; i < 20; i++) {
        double begin = ns(CLOCK_THREAD_CPUTIME_ID);
        while (rank == 1 && ns(CLOCK_THREAD_CPUTIME_ID) < begin + 1e7)
            ;
        computed += ns(CLOCK_THREAD_CPUTIME_ID) - begin;
        int one = 1, sum;
        double entered = ns(CLOCK_MONOTONIC);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        in_calls += ns(CLOCK_MONOTONIC) - entered;
    }
    fprintf(stderr, "thread %d %.0f %.0f\n", rank, in_calls, computed);
    return unused;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
