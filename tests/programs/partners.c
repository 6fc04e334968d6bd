/* Four ranks. In each phase rank 1 waits for one of the others, which has slept, in one of the ways that MPI has; a
 * barrier ends it. A line states for whom rank 1 has waited longest by its rank in MPI_COMM_WORLD: that of the phase, or
 * -1 where nobody can know. The last line is what each rank has sent to each: messages and bytes. */
#include "report.h"

#include <unistd.h>

static int expected[64], phases;
static long sent_messages[4], sent_bytes[4];
static int number[4], value;

static void sent(int rank, long bytes)
{
    sent_messages[rank]++;
    sent_bytes[rank] += bytes;
}

/* From this rank to rank 1, after a while. */
static void late(int from, MPI_Comm comm, int to, int tag)
{
    if (world_rank != from) return;
    usleep(20000);
    MPI_Send(&value, 1, MPI_INT, to, tag, comm);
    sent(1, sizeof(int));
}

/* From this rank to rank 1, after three times as long as rank 1 has waited for others since then. */
static void later(int from, double since, int tag)
{
    double waited = MPI_Wtime() - since;
    if (world_rank == 1) {
        MPI_Send(&waited, 1, MPI_DOUBLE, from, tag, MPI_COMM_WORLD);
        sent(from, sizeof waited);
    } else if (world_rank == from) {
        MPI_Recv(&waited, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(3e6 * waited);
    }
    late(from, MPI_COMM_WORLD, 1, tag);
}

static void end(int partner)
{
    expected[phases++] = partner;
    MPI_Barrier(MPI_COMM_WORLD);
}

#define PHASE if (world_rank == 1)
#define W MPI_COMM_WORLD

int main(int argc, char **argv)
{
    MPI_Comm reversed, odd, half, inter, twin, dup, other;
    MPI_Request q[4], persistent[2], send;
    MPI_Status status, statuses[4];
    MPI_Message message;
    int index, some, indices[4], flag;
    static char large[1 << 20];
    double pair[2] = {1, 2}, since;
    MPI_Init(&argc, &argv);
    world();
    CHECK(world_size == 4);
    MPI_Comm_split(W, 0, -world_rank, &reversed);
    MPI_Comm_split(W, world_rank % 2, -world_rank, &odd);
    /* {1, 0} and {3, 2}: the leaders are the first ones. */
    MPI_Comm_split(W, world_rank / 2, -world_rank, &half);
    MPI_Intercomm_create(half, 0, W, world_rank < 2 ? 3 : 1, 5, &inter);
    MPI_Comm_dup(inter, &twin);
    end(-1);

    PHASE MPI_Recv(number, 1, MPI_INT, 0, 1, W, &status);
    late(0, W, 1, 1);
    end(0);

    PHASE {
        MPI_Irecv(number, 1, MPI_INT, 2, 2, W, q);
        MPI_Wait(q, &status);
    }
    late(2, W, 1, 2);
    end(2);

    PHASE {
        for (int i = 0; i < 3; i++) MPI_Irecv(number + i, 1, MPI_INT, 0, i, W, q + i);
        MPI_Isend(&value, 1, MPI_INT, 0, 9, W, q + 3);
        sent(0, sizeof(int));
        MPI_Waitall(4, q, statuses);
    }
    if (world_rank == 0) MPI_Recv(number, 1, MPI_INT, 1, 9, W, &status);
    for (int i = 0; i < 3; i++) late(0, W, 1, i);
    end(0);

    /* Requests that are complete at their start may be one. */
    PHASE {
        MPI_Irecv(number, 1, MPI_INT, 0, 20, W, q);
        MPI_Isend(&value, 1, MPI_INT, 0, 21, W, q + 1);
        sent(0, sizeof(int));
        MPI_Isend(&value, 1, MPI_INT, 2, 22, W, &send);
        sent(2, sizeof(int));
        MPI_Waitall(2, q, statuses);
        MPI_Wait(&send, &status);
    }
    if (world_rank == 0) MPI_Recv(number, 1, MPI_INT, 1, 21, W, &status);
    if (world_rank == 2) MPI_Recv(number, 1, MPI_INT, 1, 22, W, &status);
    late(0, W, 1, 20);
    end(0);

    PHASE {
        MPI_Irecv(number, 1, MPI_INT, 0, 3, W, q);
        MPI_Irecv(number + 1, 1, MPI_INT, 2, 3, W, q + 1);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    }
    late(0, W, 1, 3);
    late(2, W, 1, 3);
    end(-1);

    for (int way = 0; way < 2; way++) {
        PHASE {
            MPI_Irecv(number, 1, MPI_INT, 0, 4, W, q);
            MPI_Irecv(number + 1, 1, MPI_INT, 2, 4, W, q + 1);
            if (way == 0) {
                MPI_Waitany(2, q, &index, MPI_STATUS_IGNORE);
                CHECK(index == 1);
            } else {
                MPI_Waitsome(2, q, &some, indices, MPI_STATUSES_IGNORE);
                CHECK(some == 1 && indices[0] == 1);
            }
            MPI_Send(&value, 1, MPI_INT, 0, 44, W);
            sent(0, sizeof(int));
            for (flag = 0; !flag;) MPI_Test(q, &flag, MPI_STATUS_IGNORE);
        }
        /* Longer than rank 0, for which the tests wait. */
        if (world_rank == 2) usleep(200000);
        late(2, W, 1, 4);
        if (world_rank == 0) MPI_Recv(number, 1, MPI_INT, 1, 44, W, &status);
        late(0, W, 1, 4);
        end(2);
    }

    PHASE MPI_Recv(number, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, W, &status);
    late(3, W, 1, 6);
    end(3);

    PHASE MPI_Recv(number, 1, MPI_INT, MPI_ANY_SOURCE, 7, W, MPI_STATUS_IGNORE);
    late(3, W, 1, 7);
    end(3);

    PHASE {
        MPI_Irecv(number, 1, MPI_INT, MPI_ANY_SOURCE, 8, W, q);
        MPI_Wait(q, MPI_STATUS_IGNORE);
    }
    late(2, W, 1, 8);
    end(2);

    /* All of them from one. */
    PHASE {
        for (int i = 0; i < 2; i++) MPI_Irecv(number + i, 1, MPI_INT, MPI_ANY_SOURCE, 9 + i, W, q + i);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    }
    late(3, W, 1, 9);
    late(3, W, 1, 10);
    end(3);

    PHASE {
        MPI_Irecv(number, 1, MPI_INT, MPI_PROC_NULL, 1, W, q);
        MPI_Isend(number, 1, MPI_INT, MPI_PROC_NULL, 1, W, q + 1);
        MPI_Waitall(2, q, statuses);
        MPI_Recv(number, 1, MPI_INT, MPI_PROC_NULL, 1, W, &status);
        MPI_Send(number, 1, MPI_INT, MPI_PROC_NULL, 1, W);
    }
    end(-1);

    PHASE MPI_Recv(number, 1, MPI_INT, 3, 11, reversed, &status);
    late(0, reversed, 2, 11);
    end(0);

    PHASE MPI_Recv(number, 1, MPI_INT, 0, 12, odd, &status);
    late(3, odd, 1, 12);
    end(3);

    /* The communicator of a request is freed before it is complete, and another one may get its handle. */
    MPI_Comm_dup(reversed, &dup);
    PHASE MPI_Irecv(number, 1, MPI_INT, 1, 13, dup, q);
    late(2, dup, 2, 13);
    MPI_Comm_free(&dup);
    MPI_Comm_dup(W, &other);
    PHASE MPI_Wait(q, MPI_STATUS_IGNORE);
    PHASE MPI_Recv(number, 1, MPI_INT, 3, 14, other, &status);
    late(3, other, 1, 14);
    end(3);
    MPI_Comm_free(&other);

    PHASE MPI_Recv(number, 1, MPI_INT, 0, 15, inter, &status);
    late(3, inter, 0, 15);
    end(3);

    PHASE {
        MPI_Irecv(number, 1, MPI_INT, 1, 16, twin, q);
        MPI_Wait(q, &status);
    }
    late(2, twin, 0, 16);
    end(2);

    PHASE {
        MPI_Recv_init(number, 1, MPI_INT, 2, 17, W, persistent);
        MPI_Recv_init(number + 1, 1, MPI_INT, 0, 17, W, persistent + 1);
        for (int i = 0; i < 2; i++) {
            MPI_Start(persistent);
            MPI_Wait(persistent, &status);
        }
    }
    for (int i = 0; i < 2; i++) late(2, W, 1, 17);
    end(2);

    /* One that is not started is complete. */
    PHASE {
        MPI_Start(persistent);
        MPI_Waitall(2, persistent, statuses);
    }
    late(2, W, 1, 17);
    end(2);

    /* So is one that a test has found complete. */
    PHASE {
        MPI_Startall(2, persistent);
        for (flag = 0; !flag;) MPI_Test(persistent, &flag, &status);
        MPI_Waitall(2, persistent, statuses);
    }
    late(2, W, 1, 17);
    if (world_rank == 0) usleep(200000);
    late(0, W, 1, 17);
    end(0);

    PHASE {
        MPI_Request_free(persistent);
        MPI_Request_free(persistent + 1);
        MPI_Isend(&value, 1, MPI_INT, 0, 18, W, &send);
        sent(0, sizeof(int));
        MPI_Request_free(&send);
        MPI_Irecv(number, 1, MPI_INT, 3, 18, W, q);
        MPI_Wait(q, &status);
    }
    if (world_rank == 0) MPI_Recv(number, 1, MPI_INT, 1, 18, W, &status);
    late(3, W, 1, 18);
    end(3);

    /* Handles that are used again and again, by other partners. */
    since = MPI_Wtime();
    for (int i = 0; i < 200; i++) {
        int partner = i % 2 ? 2 : 0;
        PHASE {
            MPI_Irecv(number, 1, MPI_INT, partner, 19, W, q);
            MPI_Isend(&value, 1, MPI_INT, partner, 19, W, q + 1);
            sent(partner, sizeof(int));
            MPI_Waitall(2, q, statuses);
        } else if (world_rank == partner) {
            MPI_Sendrecv(&value, 1, MPI_INT, 1, 19, number, 1, MPI_INT, 1, 19, W, &status);
            sent(1, sizeof(int));
        }
    }
    later(3, since, 20);
    PHASE {
        MPI_Irecv(number, 1, MPI_INT, 3, 20, W, q);
        MPI_Wait(q, &status);
    }
    end(3);

    PHASE {
        MPI_Sendrecv(pair, 2, MPI_DOUBLE, 0, 21, number, 1, MPI_INT, 3, 21, W, &status);
        sent(0, sizeof pair);
    }
    if (world_rank == 0) MPI_Recv(pair, 2, MPI_DOUBLE, 1, 21, W, &status);
    late(3, W, 1, 21);
    end(3);

    PHASE {
        MPI_Probe(MPI_ANY_SOURCE, 22, W, &status);
        MPI_Recv(number, 1, MPI_INT, status.MPI_SOURCE, 22, W, MPI_STATUS_IGNORE);
    }
    late(2, W, 1, 22);
    end(2);

    PHASE {
        MPI_Mprobe(MPI_ANY_SOURCE, 23, W, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(number, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    late(0, W, 1, 23);
    end(0);

    /* A message that MPI buffers for nobody. */
    PHASE {
        for (flag = 0; !flag;) MPI_Improbe(MPI_ANY_SOURCE, 24, W, &flag, &message, &status);
        usleep(1000);
        MPI_Imrecv(large, sizeof large, MPI_CHAR, &message, q);
        MPI_Wait(q, MPI_STATUS_IGNORE);
    }
    if (world_rank == 2) {
        MPI_Send(large, sizeof large, MPI_CHAR, 1, 24, W);
        sent(1, sizeof large);
    }
    end(2);

    PHASE {
        MPI_Ssend(&value, 1, MPI_INT, 2, 25, W);
        sent(2, sizeof(int));
    }
    if (world_rank == 2) {
        usleep(20000);
        MPI_Recv(number, 1, MPI_INT, 1, 25, W, &status);
    }
    end(2);

    /* Two, and one of them for longer. */
    since = MPI_Wtime();
    PHASE MPI_Recv(number, 1, MPI_INT, 0, 26, W, &status);
    late(0, W, 1, 26);
    later(3, since, 26);
    PHASE MPI_Recv(number, 1, MPI_INT, 3, 26, W, &status);
    end(3);

    PHASE {
        MPI_Send_init(pair, 2, MPI_DOUBLE, 3, 27, W, persistent);
        for (int i = 0; i < 3; i++) {
            MPI_Start(persistent);
            sent(3, sizeof pair);
            MPI_Wait(persistent, &status);
        }
        MPI_Request_free(persistent);
        MPI_Recv(number, 1, MPI_INT, 2, 27, W, &status);
    }
    if (world_rank == 2) usleep(300000);
    for (int i = 0; i < 3 && world_rank == 3; i++) MPI_Recv(pair, 2, MPI_DOUBLE, 1, 27, W, &status);
    late(2, W, 1, 27);
    end(2);

    MPI_Comm_free(&twin);
    MPI_Comm_free(&inter);
    if (world_rank == 0) {
        for (int i = 0; i < phases; i++) printf("expected %d\n", expected[i]);
    } else {
        sent(0, 512);
    }
    report("sent %ld %ld %ld %ld %ld %ld %ld %ld", sent_messages[0], sent_bytes[0], sent_messages[1], sent_bytes[1],
        sent_messages[2], sent_bytes[2], sent_messages[3], sent_bytes[3]);
    MPI_Finalize();
    return 0;
}
