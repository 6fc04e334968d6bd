/* Every non-blocking collective of MPI 3.1 once, completed in every way that MPI has, with point-to-point requests in
 * between; results checked. Blocks are COUNT ints; in the v- and w-variants rank r owns r + 1 ints. The root is rank 1.
 * */
#include "report.h"

#define COUNT 3
#define ROOT 1
#define MOST 16
#define FORMS 17

static int n, me, mine, all;
static int own[MOST], counts[MOST], offsets[MOST], equal[MOST], bytes[MOST];
static int a[FORMS][MOST * MOST], b[FORMS][MOST * MOST];
static MPI_Datatype types[MOST];

/* Starts them all, in the same order on all ranks. */
static int start(MPI_Request *q)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int f = 0;
    MPI_Ibarrier(w, &q[f++]);
    MPI_Ibcast(b[f], COUNT, MPI_INT, ROOT, w, &q[f]), f++;
    MPI_Igather(a[f], COUNT, MPI_INT, b[f], COUNT, MPI_INT, ROOT, w, &q[f]), f++;
    MPI_Igatherv(a[f], mine, MPI_INT, b[f], own, offsets, MPI_INT, ROOT, w, &q[f]), f++;
    MPI_Iscatter(a[f], COUNT, MPI_INT, b[f], COUNT, MPI_INT, ROOT, w, &q[f]), f++;
    MPI_Iscatterv(a[f], own, offsets, MPI_INT, b[f], mine, MPI_INT, ROOT, w, &q[f]), f++;
    MPI_Iallgather(a[f], COUNT, MPI_INT, b[f], COUNT, MPI_INT, w, &q[f]), f++;
    MPI_Iallgatherv(a[f], mine, MPI_INT, b[f], own, offsets, MPI_INT, w, &q[f]), f++;
    MPI_Ialltoall(a[f], COUNT, MPI_INT, b[f], COUNT, MPI_INT, w, &q[f]), f++;
    MPI_Ialltoallv(a[f], counts, equal, MPI_INT, b[f], counts, equal, MPI_INT, w, &q[f]), f++;
    MPI_Ialltoallw(a[f], counts, bytes, types, b[f], counts, bytes, types, w, &q[f]), f++;
    MPI_Ireduce(a[f], b[f], COUNT, MPI_INT, MPI_SUM, ROOT, w, &q[f]), f++;
    MPI_Iallreduce(a[f], b[f], COUNT, MPI_INT, MPI_SUM, w, &q[f]), f++;
    MPI_Ireduce_scatter_block(a[f], b[f], COUNT, MPI_INT, MPI_SUM, w, &q[f]), f++;
    MPI_Ireduce_scatter(a[f], b[f], own, MPI_INT, MPI_SUM, w, &q[f]), f++;
    MPI_Iscan(a[f], b[f], COUNT, MPI_INT, MPI_SUM, w, &q[f]), f++;
    MPI_Iexscan(a[f], b[f], COUNT, MPI_INT, MPI_SUM, w, &q[f]), f++;
    return f;
}

/* Seen through a function, since a compiler takes it for an empty array. */
__attribute__((noinline)) static MPI_Status *ignored(void) { return MPI_STATUSES_IGNORE; }

/* In the array of requests lies a send to oneself between the collectives. */
enum { WAIT, WAITALL, WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME, STATUS, WAYS };

static void complete(int way, int count, MPI_Request *q)
{
    int left = count, index, some, flag, indices[FORMS + 2];
    MPI_Status status, statuses[FORMS + 2];
    switch (way) {
    case WAIT:
        for (int i = 0; i < count; i++) MPI_Wait(&q[i], &status);
        break;
    case WAITALL:
        MPI_Waitall(count, q, statuses);
        break;
    case WAITANY:
        while (left--) MPI_Waitany(count, q, &index, MPI_STATUS_IGNORE);
        break;
    case WAITSOME:
        for (; left; left -= some) MPI_Waitsome(count, q, &some, indices, ignored());
        break;
    case TEST:
        for (int i = 0; i < count; i++) do MPI_Test(&q[i], &flag, MPI_STATUS_IGNORE); while (!flag);
        break;
    case TESTALL:
        do MPI_Testall(count, q, &flag, ignored()); while (!flag);
        break;
    case TESTANY:
        while (left) {
            MPI_Testany(count, q, &index, &flag, &status);
            left -= flag;
        }
        break;
    case TESTSOME:
        for (; left; left -= some) MPI_Testsome(count, q, &some, indices, statuses);
        break;
    case STATUS:
        for (int i = 0; i < count; i++) do MPI_Request_get_status(q[i], &flag, &status); while (!flag);
        for (int i = 0; i < count; i++) MPI_Wait(&q[i], MPI_STATUS_IGNORE);
        break;
    }
    for (int i = 0; i < count; i++) CHECK(q[i] == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    n = world_size, me = world_rank, mine = me + 1;
    CHECK(n <= MOST);
    for (int r = 0; r < n; r++) {
        own[r] = r + 1, offsets[r] = all, all += own[r];
        counts[r] = COUNT, equal[r] = r * COUNT, bytes[r] = r * COUNT * (int) sizeof(int), types[r] = MPI_INT;
    }
    for (int way = 0; way < WAYS; way++) {
        MPI_Request q[FORMS + 2];
        for (int f = 0; f < FORMS; f++)
            for (int i = 0; i < MOST * MOST; i++) a[f][i] = me + f + way, b[f][i] = f == 1 && me == ROOT ? 5 : -1;
        int got = -1, sent = 100 * me + way;
        MPI_Irecv(&got, 1, MPI_INT, me, 3, MPI_COMM_WORLD, &q[0]);
        int count = 1 + start(q + 1);
        MPI_Isend(&sent, 1, MPI_INT, me, 3, MPI_COMM_WORLD, &q[count++]);
        complete(way, count, q);
        int sum = n * (n - 1) / 2;
        CHECK(got == sent && b[1][0] == 5);
        CHECK(me != ROOT || (b[2][COUNT] == 1 + 2 + way && b[11][0] == sum + n * (11 + way)));
        CHECK(b[4][0] == ROOT + 4 + way && b[5][me] == ROOT + 5 + way && b[6][COUNT] == 1 + 6 + way);
        CHECK(b[7][offsets[n - 1]] == n - 1 + 7 + way && b[8][COUNT] == 1 + 8 + way && b[9][COUNT] == 1 + 9 + way);
        CHECK(b[10][COUNT] == 1 + 10 + way && b[12][0] == sum + n * (12 + way) && b[13][0] == sum + n * (13 + way));
        CHECK(b[14][0] == sum + n * (14 + way) && b[15][0] == me * (me + 1) / 2 + (me + 1) * (15 + way));
    }

    /* Several at once behind one handle, where the library completes them at their start. */
    MPI_Request alone[4];
    for (int i = 0; i < 4; i++) MPI_Ibarrier(MPI_COMM_SELF, &alone[i]);
    MPI_Waitall(4, alone, ignored());
    report("done");
    MPI_Finalize();
    return 0;
}
