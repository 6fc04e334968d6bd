/* Three threads on each rank, each with a communicator of its own, call collectives at the same time. */
#include "report.h"

#include <pthread.h>

#define THREADS 3

static MPI_Comm comms[THREADS];
static double totals[THREADS];
/* A thread that ended could lend its number to the next one: all are there from the first call to the last. */
static pthread_barrier_t together;

static void *work(void *argument)
{
    long t = (long)argument;
    double mine, sum;
    pthread_barrier_wait(&together);
    for (int i = 0; i < 40 + 10 * t; i++) {
        mine = world_rank + i;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comms[t]);
        totals[t] += sum;
    }
    pthread_barrier_wait(&together);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    world();
    CHECK(provided == MPI_THREAD_MULTIPLE);
    for (long t = 0; t < THREADS; t++) {
        char name[16];
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
        sprintf(name, "thread %ld", t);
        MPI_Comm_set_name(comms[t], name);
    }
    pthread_barrier_init(&together, NULL, THREADS);
    for (long t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void *)t);
    for (long t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    for (int i = 0; i < 5; i++) MPI_Barrier(MPI_COMM_WORLD);
    report("%g %g %g", totals[0], totals[1], totals[2]);
    for (long t = 0; t < THREADS; t++) MPI_Comm_free(&comms[t]);
    MPI_Finalize();
    return 0;
}
