/* Two threads of rank 1, each on a communicator of its own: one waits for rank 0, the other one for rank 2, a hundred
 * times each and at once, by requests. */
#include "report.h"

#include <pthread.h>
#include <unistd.h>

enum { TIMES = 100 };
static MPI_Comm comms[2];

static void *work(void *argument)
{
    long which = (long)argument;
    int partner = which == 0 ? 0 : 2, number;
    MPI_Request q[2];
    for (int i = 0; i < TIMES; i++) {
        if (world_rank == 1) {
            MPI_Irecv(&number, 1, MPI_INT, partner, i, comms[which], q);
            MPI_Isend(&i, 1, MPI_INT, partner, i, comms[which], q + 1);
            MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
            CHECK(number == i);
        } else if (world_rank == partner) {
            MPI_Recv(&number, 1, MPI_INT, 1, i, comms[which], MPI_STATUS_IGNORE);
            usleep(300);
            MPI_Send(&i, 1, MPI_INT, 1, i, comms[which]);
        }
        if (i % 10 == 9) MPI_Barrier(comms[which]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    world();
    CHECK(provided == MPI_THREAD_MULTIPLE && world_size == 3);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_set_name(comms[0], "first");
    MPI_Comm_set_name(comms[1], "second");
    pthread_create(&thread, NULL, work, (void *)1L);
    work((void *)0L);
    pthread_join(thread, NULL);
    report("done");
    MPI_Finalize();
    return 0;
}
