/* Messages and collective operations of several sizes, whose models can be fitted: ping-pongs, messages that have
 * arrived before their receive is called, bursts, and operations that performance guidelines compare. */
#include "report.h"

#define MOST (1 << 18)
static char out[4 * MOST], in[4 * MOST];

static void ping_pong(int bytes, int times)
{
    int other = 1 - world_rank;
    for (int i = 0; i < times; i++) {
        if (world_rank == 0) MPI_Send(out, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (world_rank == 1) MPI_Send(out, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
    }
}

/* Rank 1 receives 200 us later. */
static void late(int bytes, int times)
{
    for (int i = 0; i < times; i++) {
        if (world_rank == 0) {
            MPI_Send(out, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
            MPI_Recv(in, 1, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            double until = MPI_Wtime() + 200e-6;
            while (MPI_Wtime() < until) continue;
            MPI_Recv(in, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, 1, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
        }
    }
}

/* 32 messages in a row, when rank 1 has posted all receives. */
static void bursts(int bytes, int times)
{
    MPI_Request requests[32];
    for (int i = 0; i < times; i++) {
        if (world_rank == 0) {
            MPI_Recv(in, 1, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int k = 0; k < 32; k++) MPI_Isend(out, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &requests[k]);
            MPI_Waitall(32, requests, MPI_STATUSES_IGNORE);
        } else {
            for (int k = 0; k < 32; k++) MPI_Irecv(in + 64 * k, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &requests[k]);
            MPI_Send(out, 1, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
            for (int k = 0; k < 32; k++) MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        }
    }
}

static void collectives(int block, int times)
{
    int all = world_size * block;
    for (int i = 0; i < times; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(out, all, MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Gather(out, block, MPI_BYTE, in, block, MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allgather(out, block, MPI_BYTE, in, block, MPI_BYTE, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Reduce(out, in, all, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(out, in, all, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    CHECK(world_size == 2);
    for (int bytes = 1; bytes <= MOST; bytes *= 4) ping_pong(bytes, 60);
    MPI_Barrier(MPI_COMM_WORLD);
    late(1, 40);
    MPI_Barrier(MPI_COMM_WORLD);
    bursts(1, 40);
    for (int block = 8; block <= MOST; block *= 4) collectives(block, 60);
    MPI_Finalize();
    return 0;
}
