/* Non-blocking collectives under MPI_THREAD_MULTIPLE. Three threads at once, each on a communicator of its own,
 * complete theirs in every way; then one thread starts what another one completes. Results checked. */
#include "checksum.h"

#include <pthread.h>

#define THREADS 3
#define ROUNDS 60
#define AT_ONCE 3

static MPI_Comm comms[THREADS], handed_over;
static double totals[THREADS];
/* A thread that ended could lend its number to the next one: all are there from the first call to the last. */
static pthread_barrier_t together;

static double mine(int round, int i) { return 1000 * round + 10 * i + world_rank; }
static double sum(int round, int i) { return world_size * (1000 * round + 10 * i) + world_size * (world_size - 1) / 2; }

/* In turn by MPI_Wait, MPI_Test, MPI_Waitany, MPI_Waitsome, MPI_Waitall. */
static void complete(int way, MPI_Request *q)
{
    int index, some, flag, indices[AT_ONCE + 1], left = AT_ONCE + 1;
    switch (way) {
    case 0:
        for (int i = 0; i < left; i++) MPI_Wait(&q[i], MPI_STATUS_IGNORE);
        break;
    case 1:
        for (int i = 0; i < left; i++) do MPI_Test(&q[i], &flag, MPI_STATUS_IGNORE); while (!flag);
        break;
    case 2:
        while (left--) MPI_Waitany(AT_ONCE + 1, q, &index, MPI_STATUS_IGNORE);
        break;
    case 3:
        for (; left; left -= some) MPI_Waitsome(AT_ONCE + 1, q, &some, indices, statuses_ignored());
        break;
    default:
        MPI_Waitall(left, q, statuses_ignored());
    }
    for (int i = 0; i <= AT_ONCE; i++) CHECK(q[i] == MPI_REQUEST_NULL);
}

static void *work(void *argument)
{
    long t = (long)argument;
    double in[AT_ONCE], out[AT_ONCE];
    MPI_Request q[AT_ONCE + 1];
    pthread_barrier_wait(&together);
    for (int round = 0; round < ROUNDS + 5 * t; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            in[i] = mine(round, i);
            MPI_Iallreduce(&in[i], &out[i], 1, MPI_DOUBLE, MPI_SUM, comms[t], &q[i]);
        }
        MPI_Ibarrier(comms[t], &q[AT_ONCE]);
        complete(round % 5, q);
        for (int i = 0; i < AT_ONCE; i++) {
            CHECK(out[i] == sum(round, i));
            totals[t] += out[i];
        }
    }
    pthread_barrier_wait(&together);
    return NULL;
}

/* What lies on the way from the thread that starts to the one that completes. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    MPI_Request requests[AT_ONCE];
    int filled, taken;
} way = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static double sent[ROUNDS], got[ROUNDS];

static void *start(void *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request q;
        sent[round] = mine(round, 0);
        MPI_Iallreduce(&sent[round], &got[round], 1, MPI_DOUBLE, MPI_SUM, handed_over, &q);
        pthread_mutex_lock(&way.lock);
        while (way.filled - way.taken == AT_ONCE) pthread_cond_wait(&way.changed, &way.lock);
        way.requests[way.filled++ % AT_ONCE] = q;
        pthread_cond_signal(&way.changed);
        pthread_mutex_unlock(&way.lock);
    }
    return NULL;
}

static void *finish(void *argument)
{
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&way.lock);
        while (way.filled == way.taken) pthread_cond_wait(&way.changed, &way.lock);
        MPI_Request q = way.requests[way.taken++ % AT_ONCE];
        pthread_cond_signal(&way.changed);
        pthread_mutex_unlock(&way.lock);
        int flag = round % 2;
        if (flag) MPI_Wait(&q, MPI_STATUS_IGNORE);
        while (!flag) MPI_Test(&q, &flag, MPI_STATUS_IGNORE);
        CHECK(q == MPI_REQUEST_NULL && got[round] == sum(round, 0));
    }
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
        sprintf(name, "thread %ld", t);
        comms[t] = named(name);
    }
    handed_over = named("handed over");
    pthread_barrier_init(&together, NULL, THREADS);
    for (long t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void *)t);
    for (long t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    pthread_create(&threads[0], NULL, start, NULL);
    pthread_create(&threads[1], NULL, finish, NULL);
    for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
    report("%g %g %g", totals[0], totals[1], totals[2]);
    for (long t = 0; t < THREADS; t++) MPI_Comm_free(&comms[t]);
    MPI_Comm_free(&handed_over);
    MPI_Finalize();
    return 0;
}
