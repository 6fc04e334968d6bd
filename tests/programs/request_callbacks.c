/* request_callbacks: requests are attributes of a communicator, whose delete callbacks complete them in all ways or
 * free them; one callback makes and completes one of its own, another one makes some that are completed outside of it,
 * one of them of a message that was found outside. Rank 1 leaves one other request. */
#include "report.h"

#define REQUESTS 12
#define STARTED 5

static int in = 1, out[32], next[4];
static MPI_Request started[STARTED];
/* Found outside of the callbacks. */
static MPI_Message found;

static int start(void)
{
    MPI_Irecv(next + 1, 1, MPI_INT, 0, 2, MPI_COMM_SELF, started);
    MPI_Isend(&in, 1, MPI_INT, 0, 2, MPI_COMM_SELF, started + 1);
    MPI_Ibarrier(MPI_COMM_SELF, started + 2);
    MPI_Recv_init(next + 2, 1, MPI_INT, 0, 3, MPI_COMM_SELF, started + 3);
    MPI_Imrecv(next + 3, 1, MPI_INT, &found, started + 4);
    return MPI_SUCCESS;
}

static int close_request(MPI_Comm comm, int key, void *object, void *way)
{
    MPI_Request *request = object, own;
    int flag = 0, index;
    (void)comm, (void)key;
    switch (*(int *)way) {
    case 0: return MPI_Wait(request, MPI_STATUS_IGNORE);
    case 1: return MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
    case 2: return MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
    case 3: return MPI_Waitsome(1, request, &flag, &index, MPI_STATUSES_IGNORE);
    case 4:
        while (!flag) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        break;
    case 5:
        while (!flag) MPI_Testall(1, request, &flag, MPI_STATUSES_IGNORE);
        break;
    case 6:
        while (!flag) MPI_Testany(1, request, &index, &flag, MPI_STATUS_IGNORE);
        break;
    case 7:
        while (flag == 0) MPI_Testsome(1, request, &flag, &index, MPI_STATUSES_IGNORE);
        break;
    case 9: return start();
    default:
        MPI_Irecv(next, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &own);
        MPI_Send(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&own, MPI_STATUS_IGNORE);
        return MPI_Request_free(request);
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static int ways[REQUESTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 5, 9};
    MPI_Request requests[REQUESTS], self, left;
    MPI_Comm holder;
    MPI_Init(&argc, &argv);
    world();
    int peer = 1 - world_rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &holder);
    for (int k = 1; k < 8; k++) {
        MPI_Irecv(out + k, 1, MPI_INT, k == 6 ? MPI_ANY_SOURCE : peer, k, MPI_COMM_WORLD, requests + k);
        MPI_Send(&in, 1, MPI_INT, peer, k, MPI_COMM_WORLD);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, requests);
    MPI_Isend(&in, 1, MPI_INT, peer, 8, MPI_COMM_WORLD, requests + 8);
    MPI_Recv(out + 8, 1, MPI_INT, peer, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send_init(&in, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, requests + 9);
    MPI_Ibarrier(MPI_COMM_WORLD, requests + 10);
    if (world_rank == 0) MPI_Send(&in, 1, MPI_INT, 1, 20, MPI_COMM_WORLD);
    if (world_rank == 1) MPI_Irecv(out, 1, MPI_INT, 0, 20, MPI_COMM_WORLD, &left);
    requests[11] = MPI_REQUEST_NULL;
    MPI_Isend(&in, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &self);
    MPI_Mprobe(0, 4, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
    for (int k = 0; k < REQUESTS; k++) {
        int key;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_request, &key, ways + k);
        MPI_Comm_set_attr(holder, key, requests + k);
        MPI_Comm_free_keyval(&key);
    }
    MPI_Comm_free(&holder);
    for (int k = 0; k < REQUESTS; k++)
        if (requests[k] != MPI_REQUEST_NULL) MPI_Abort(MPI_COMM_WORLD, 1 + k);
    MPI_Wait(started, MPI_STATUS_IGNORE);
    MPI_Waitall(2, started + 1, MPI_STATUSES_IGNORE);
    MPI_Request_free(started + 3);
    for (int flag = 0; !flag;) MPI_Test(started + 4, &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&self, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
