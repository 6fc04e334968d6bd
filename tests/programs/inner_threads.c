/* inner_threads: four threads at once, each with regions and sums of its own, in one counter and one timer. */
#include "mpitrace.h"
#include "report.h"

#include <pthread.h>

#define THREADS 4
#define REPETITIONS 50

static int counter, timer;

static void *work(void *argument)
{
    int thread = *(int *)argument;
    char name[16];
    snprintf(name, sizeof name, "thread %d", thread);
    int region = mpitrace_region(name);
    for (int k = 0; k < REPETITIONS; k++) {
        mpitrace_region_begin(region);
        mpitrace_timer_start(timer);
        for (int i = 0; i < 100; i++) mpitrace_add(counter, (uint64_t)thread + 1);
        mpitrace_timer_stop(timer);
        mpitrace_region_end(region);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int numbers[THREADS], level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    world();
    counter = mpitrace_counter("added", NULL);
    timer = mpitrace_timer("adding");
    for (int t = 0; t < THREADS; t++) {
        numbers[t] = t;
        pthread_create(&threads[t], NULL, work, &numbers[t]);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
