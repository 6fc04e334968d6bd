/* meanwhile WHAT: one thread is in a call that completes or frees something, and has not returned from it; meanwhile
 * another thread makes and uses a new one, which may well get the same handle.
 *   request       completed by MPI_Wait
 *   receive       the same, of a message
 *   persistent    the request of a persistent collective
 *   communicator  a communicator
 *   datatype      a data type */
#include "checksum.h"

#include <pthread.h>
#include <unistd.h>

#define TIMES 5

/* Open MPI 4 has none. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION > 4)
#define PERSISTENT
#endif

static MPI_Comm first, second;
static MPI_Request old;
static MPI_Datatype old_type;
static int one = 1, sum, room[8], old_message;
static pthread_barrier_t about_to;

static void *complete_request(void *unused)
{
    pthread_barrier_wait(&about_to);
    MPI_Wait(&old, MPI_STATUS_IGNORE);
    return unused;
}

static void use_request(void)
{
    for (int i = 0; i < TIMES; i++) {
        MPI_Request request;
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, second, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void use_receive(void)
{
    int peer = (world_rank + 1) % world_size, got;
    for (int i = 0; i < TIMES; i++) {
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 2, second, &request);
        MPI_Send(&one, 1, MPI_INT, peer, 2, second);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    sum = world_size;
}

static void *free_persistent(void *unused)
{
    pthread_barrier_wait(&about_to);
    MPI_Request_free(&old);
    return unused;
}

static void use_persistent(void)
{
#ifdef PERSISTENT
    MPI_Request request;
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, second, MPI_INFO_NULL, &request);
    for (int i = 0; i < TIMES; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
#endif
}

static void *free_communicator(void *unused)
{
    pthread_barrier_wait(&about_to);
    MPI_Comm_free(&first);
    return unused;
}

static void use_communicator(void)
{
    MPI_Comm third;
    MPI_Comm_dup(second, &third);
    MPI_Comm_set_name(third, "made meanwhile");
    /* Before and after the other thread has returned. */
    for (int i = 0; i < TIMES; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, third);
        usleep(20000);
    }
    MPI_Comm_free(&third);
}

static void *free_datatype(void *unused)
{
    pthread_barrier_wait(&about_to);
    MPI_Type_free(&old_type);
    return unused;
}

/* A type of so many ints, used once. */
static MPI_Datatype used(int ints)
{
    MPI_Datatype type;
    MPI_Type_contiguous(ints, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Bcast(room, 1, type, 0, second);
    return type;
}

static void use_datatype(void)
{
    MPI_Datatype type = used(8);
    MPI_Type_free(&type);
    sum = world_size;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "request";
    void *(*leave)(void *) = complete_request;
    void (*use)(void) = use_request;
    pthread_t thread;
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    world();
    CHECK(provided == MPI_THREAD_MULTIPLE);
    first = named("first"), second = named("second");
    pthread_barrier_init(&about_to, NULL, 2);
    if (!strcmp(what, "persistent")) {
        leave = free_persistent, use = use_persistent;
#ifdef PERSISTENT
        MPI_Barrier_init(first, MPI_INFO_NULL, &old);
#endif
    } else if (!strcmp(what, "communicator")) {
        leave = free_communicator, use = use_communicator;
    } else if (!strcmp(what, "datatype")) {
        leave = free_datatype, use = use_datatype;
        old_type = used(4);
    } else if (!strcmp(what, "receive")) {
        use = use_receive;
        MPI_Irecv(&old_message, 1, MPI_INT, MPI_ANY_SOURCE, 1, first, &old);
        /* Its message is on the way, as the other thread must not be waiting when the new ones are made. */
        int peer = (world_rank + 1) % world_size;
        MPI_Send(&one, 1, MPI_INT, peer, 1, first);
    } else {
        MPI_Ibarrier(first, &old);
    }
    pthread_create(&thread, NULL, leave, NULL);
    pthread_barrier_wait(&about_to);
    /* The other thread is inside by now, and is held up there on its way back. */
    usleep(20000);
    use();
    pthread_join(thread, NULL);
    if (use == use_receive) MPI_Barrier(second);
    CHECK(sum == world_size);
    report("%s: done", what);
    if (use != use_communicator) MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    MPI_Finalize();
    return 0;
}
