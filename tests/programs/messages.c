/* Messages of every kind between two ranks, a barrier after each kind, so that the barrier's record holds the kind's
 * counts. Each rank sends to the other and receives from it; sizes differ by kind. The statuses that the program asks
 * for are its own. */
#include "report.h"

static int other;
static char out[4096], in[4096];
static long checksum;

static void check(MPI_Status *status, int bytes)
{
    int count;
    MPI_Get_count(status, MPI_CHAR, &count);
    CHECK(count == bytes && status->MPI_SOURCE == other);
    checksum += count + status->MPI_TAG;
}

/* Kind 0: Send and Recv, 3 x 10 bytes, one with a status. */
static void blocking(void)
{
    for (int i = 0; i < 3; i++) {
        MPI_Status status;
        if (world_rank == 0) MPI_Send(out, 10, MPI_CHAR, other, i, MPI_COMM_WORLD);
        MPI_Recv(in, 4096, MPI_CHAR, other, i, MPI_COMM_WORLD, i == 1 ? &status : MPI_STATUS_IGNORE);
        if (world_rank == 1) MPI_Send(out, 10, MPI_CHAR, other, i, MPI_COMM_WORLD);
        if (i == 1) check(&status, 10);
    }
}

/* Kind 1: Isend and Irecv, completed in every way: 6 x 20 bytes, by Wait, Waitall, Waitany, Waitsome, Test, Testall. */
static void non_blocking(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int index, flag, indices[2], done;
    for (int way = 0; way < 6; way++) {
        MPI_Irecv(in, 4096, MPI_CHAR, other, way, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, 5, MPI_INT, other, way, MPI_COMM_WORLD, &requests[1]);
        switch (way) {
        case 0: MPI_Wait(&requests[0], &statuses[0]); check(&statuses[0], 20); break;
        case 1: MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); break;
        case 2:
            for (int i = 0; i < 2; i++) MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
            break;
        case 3:
            for (done = 0; done < 2; done += index) MPI_Waitsome(2, requests, &index, indices, MPI_STATUSES_IGNORE);
            break;
        case 4:
            do MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE); while (!flag);
            break;
        case 5:
            do MPI_Testall(2, requests, &flag, statuses); while (!flag);
            check(&statuses[0], 20);
            break;
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

/* Kind 2: persistent requests, 4 x 30 bytes, and one start that sends to MPI_PROC_NULL. */
static void persistent(void)
{
    MPI_Request requests[3];
    MPI_Recv_init(in, 4096, MPI_CHAR, other, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, 30, MPI_CHAR, other, 9, MPI_COMM_WORLD, &requests[1]);
    MPI_Send_init(out, 30, MPI_CHAR, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &requests[2]);
    for (int i = 0; i < 4; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Start(&requests[2]);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++) MPI_Request_free(&requests[i]);
}

/* Kind 3: Sendrecv and Sendrecv_replace, 2 x 40 bytes, and one of each to MPI_PROC_NULL. */
static void both(void)
{
    MPI_Status status;
    MPI_Sendrecv(out, 40, MPI_CHAR, other, 1, in, 4096, MPI_CHAR, other, 1, MPI_COMM_WORLD, &status);
    check(&status, 40);
    MPI_Sendrecv_replace(out, 10, MPI_INT, other, 2, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(out, 40, MPI_CHAR, MPI_PROC_NULL, 1, in, 40, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

/* Kind 4: matched probes, 50 bytes twice, and a receive that is cancelled. */
static void probed(void)
{
    MPI_Message message;
    MPI_Request request, sent;
    MPI_Status status;
    int cancelled;
    for (int i = 0; i < 2; i++) {
        MPI_Isend(out, 50, MPI_CHAR, other, 5, MPI_COMM_WORLD, &sent);
        MPI_Mprobe(other, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        if (i == 0) {
            MPI_Mrecv(in, 4096, MPI_CHAR, &message, MPI_STATUS_IGNORE);
        } else {
            MPI_Imrecv(in, 4096, MPI_CHAR, &message, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
    MPI_Irecv(in, 10, MPI_CHAR, other, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled);
}

/* Kind 5: one-sided: 2 puts of 8 ints, an accumulate of 4, a get of 16, a fetch-and-op and a get-accumulate that only
 * gets, 8 ints. */
static void one_sided(MPI_Win win)
{
    int ints[16] = {0}, result[16];
    MPI_Win_fence(0, win);
    for (int i = 0; i < 2; i++) MPI_Put(ints, 8, MPI_INT, other, 0, 8, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(ints, 4, MPI_INT, other, 0, 4, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get(result, 16, MPI_INT, other, 0, 16, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Fetch_and_op(ints, result, MPI_INT, other, 0, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, result, 8, MPI_INT, other, 0, 8, MPI_INT, MPI_NO_OP, win);
    MPI_Win_fence(0, win);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int *base;
    MPI_Init(&argc, &argv);
    world();
    other = 1 - world_rank;
    MPI_Win_allocate(16 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    blocking();
    MPI_Barrier(MPI_COMM_WORLD);
    non_blocking();
    MPI_Barrier(MPI_COMM_WORLD);
    persistent();
    MPI_Barrier(MPI_COMM_WORLD);
    both();
    MPI_Barrier(MPI_COMM_WORLD);
    probed();
    MPI_Barrier(MPI_COMM_WORLD);
    one_sided(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    report("%ld", checksum);
    MPI_Finalize();
    return 0;
}
