/* truths WHAT: three ranks, of which one loses most of the time, as it is asked for. Delays are 10 ms each, 40 of them.
 *   sleep, lock    rank 1 sleeps, or waits for a lock that a thread of its own holds, before each MPI_Allreduce;
 *   compute        rank 1 computes for longer before each of them;
 *   turns          one rank sleeps before each of them, each in its turn;
 *   halo           rank 1 sleeps before it exchanges with its neighbours, and all reduce then;
 *   pipeline       items go from rank to rank, and rank 1 sleeps over each;
 *   workers        rank 0 gives items to the others, and rank 2 sleeps over each of its own;
 *   receiver       ranks 0 and 2 send synchronously to rank 1, which sleeps before it receives;
 *   requests       all receive from rank 2 by requests, and it sleeps before it sends;
 *   group          ranks 1 and 2 reduce between themselves before all do, and rank 2 sleeps before that;
 *   file           rank 1 writes to a file before each MPI_Allreduce;
 *   end            rank 1 computes for as long as all delays together before MPI_Finalize;
 *   chain          rank 0 sleeps, rank 1 waits for its message, rank 2 for that of rank 1;
 *   nothing        they compute, and reduce twice. */
#include "report.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { TIMES = 40, DELAY = 10000, BLOCK = 1 << 23 };
#define W MPI_COMM_WORLD

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int held;

static void spin(double seconds)
{
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        ;
}

/* For as long as a delay. The name of the file is that of the process: runs do not share one. */
static void write_blocks(int last)
{
    static MPI_File file = MPI_FILE_NULL;
    static char block[BLOCK], name[64];
    if (file == MPI_FILE_NULL) {
        snprintf(name, sizeof name, "truths-%d.dat", (int)getpid());
        int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
        MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file);
    }
    double end = MPI_Wtime() + DELAY * 1e-6;
    for (int k = 0; MPI_Wtime() < end; k = (k + 1) % 4)
        MPI_File_write_at(file, (MPI_Offset)k * BLOCK, block, BLOCK, MPI_CHAR, MPI_STATUS_IGNORE);
    if (last) MPI_File_close(&file);
}

static void *holder(void *argument)
{
    pthread_mutex_lock(&lock);
    held = 1;
    usleep(DELAY);
    pthread_mutex_unlock(&lock);
    return argument;
}

static void wait_for_lock(void)
{
    pthread_t thread;
    held = 0;
    pthread_create(&thread, NULL, holder, NULL);
    while (!held) usleep(10);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    int item = 0, sum, me;
    MPI_Request requests[2];
    MPI_Comm group;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    world();
    CHECK(argc == 2 && world_size == 3);
    me = world_rank;
#define IS(name) (!strcmp(argv[1], name))
    MPI_Comm_split(W, me > 0, me, &group);
    MPI_Barrier(W);
    for (int i = 0; i < TIMES; i++) {
        if (IS("pipeline") || IS("chain")) {
            int slow = IS("pipeline") ? 1 : 0;
            if (me > 0) MPI_Recv(&item, 1, MPI_INT, me - 1, 1, W, &status);
            if (me == slow) usleep(DELAY);
            if (me < 2) MPI_Send(&item, 1, MPI_INT, me + 1, 1, W);
        } else if (IS("receiver")) {
            if (me == 1) {
                usleep(DELAY);
                for (int k = 0; k < 2; k++) MPI_Recv(&item, 1, MPI_INT, MPI_ANY_SOURCE, 2, W, &status);
            } else {
                MPI_Ssend(&item, 1, MPI_INT, 1, 2, W);
            }
        } else if (IS("requests")) {
            if (me == 2) {
                usleep(DELAY);
                for (int k = 0; k < 2; k++) MPI_Isend(&item, 1, MPI_INT, k, 3, W, &requests[k]);
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            } else {
                MPI_Irecv(&sum, 1, MPI_INT, 2, MPI_ANY_TAG, W, requests);
                MPI_Wait(requests, MPI_STATUS_IGNORE);
            }
        } else if (IS("workers")) {
            for (int k = 1; k < 3; k++) {
                if (me == 0) MPI_Send(&item, 1, MPI_INT, k, 4, W);
                if (me == k) MPI_Recv(&item, 1, MPI_INT, 0, 4, W, &status);
            }
            if (me == 2) usleep(DELAY);
            if (me > 0) MPI_Send(&item, 1, MPI_INT, 0, 5, W);
            for (int k = 1; k < 3 && me == 0; k++) MPI_Recv(&item, 1, MPI_INT, MPI_ANY_SOURCE, 5, W, &status);
        } else if (IS("group")) {
            if (me == 2) usleep(DELAY);
            if (me > 0) MPI_Allreduce(&item, &sum, 1, MPI_INT, MPI_SUM, group);
            MPI_Allreduce(&item, &sum, 1, MPI_INT, MPI_SUM, W);
        } else if (IS("file")) {
            if (me == 1) write_blocks(i == TIMES - 1);
            MPI_Allreduce(&item, &sum, 1, MPI_INT, MPI_SUM, W);
        } else if (IS("nothing") || IS("end")) {
            if (IS("nothing")) spin(DELAY * 1e-6);
            if (i % 20 == 0) MPI_Allreduce(&item, &sum, 1, MPI_INT, MPI_SUM, W);
        } else {
            if (me == (IS("turns") ? i % 3 : 1)) {
                if (IS("lock"))
                    wait_for_lock();
                else if (IS("compute"))
                    spin(DELAY * 1e-6);
                else
                    usleep(DELAY);
            }
            if (IS("halo"))
                for (int way = 1; way < 3; way++)
                    MPI_Sendrecv(&item, 1, MPI_INT, (me + way) % 3, 6, &sum, 1, MPI_INT, (me + 3 - way) % 3, 6, W, &status);
            MPI_Allreduce(&item, &sum, 1, MPI_INT, MPI_SUM, W);
        }
    }
    report("ended well");
    MPI_Comm_free(&group);
    if (IS("end") && me == 1) spin(TIMES * DELAY * 1e-6);
    MPI_Finalize();
    return 0;
}
