/* many_threads N: N threads on each rank, each with one call on MPI_COMM_SELF, all there at the same time. */
#include "report.h"

#include <pthread.h>

static pthread_barrier_t together;

static void *work(void *argument)
{
    int value = 1, sum;
    (void)argument;
    pthread_barrier_wait(&together);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    pthread_barrier_wait(&together);
    return NULL;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1, provided;
    pthread_t *threads = calloc(count, sizeof *threads);
    pthread_attr_t small;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    world();
    CHECK(provided == MPI_THREAD_MULTIPLE);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_barrier_init(&together, NULL, count);
    for (int t = 0; t < count; t++) CHECK(pthread_create(&threads[t], &small, work, NULL) == 0);
    for (int t = 0; t < count; t++) pthread_join(threads[t], NULL);
    report("%d threads", count);
    MPI_Finalize();
    return 0;
}
