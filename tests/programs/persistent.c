/* Persistent collectives: every kind once with three starts, completed in turn; two of the same kind, which the ranks
 * start in different orders. With the argument `no-scatter` without
 * MPI_Scatter_init, whose second start fails in MPICH 4.0 and Intel MPI 2021. Blocks are COUNT ints; rank r's share is
 * r + 1. The root is rank 1. */
#include "report.h"

#define COUNT 3
#define ROOT 1
#define MOST 16
#define FORMS 17

static int n, me, mine, all;
static int own[MOST], counts[MOST], offsets[MOST], equal[MOST], bytes[MOST];
static int a[FORMS][MOST * MOST], b[FORMS][MOST * MOST];
static MPI_Datatype types[MOST];

static int make(MPI_Request *q, int scatter)
{
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Info i = MPI_INFO_NULL;
    int f = 0;
    MPI_Barrier_init(w, i, &q[f++]);
    MPI_Bcast_init(b[f], COUNT, MPI_INT, ROOT, w, i, &q[f]), f++;
    MPI_Gather_init(a[f], COUNT, MPI_INT, b[f], COUNT, MPI_INT, ROOT, w, i, &q[f]), f++;
    MPI_Gatherv_init(a[f], mine, MPI_INT, b[f], own, offsets, MPI_INT, ROOT, w, i, &q[f]), f++;
    if (scatter) MPI_Scatter_init(a[f], COUNT, MPI_INT, b[f], COUNT, MPI_INT, ROOT, w, i, &q[f]);
    else MPI_Barrier_init(w, i, &q[f]);
    f++;
    MPI_Scatterv_init(a[f], own, offsets, MPI_INT, b[f], mine, MPI_INT, ROOT, w, i, &q[f]), f++;
    MPI_Allgather_init(a[f], COUNT, MPI_INT, b[f], COUNT, MPI_INT, w, i, &q[f]), f++;
    MPI_Allgatherv_init(a[f], mine, MPI_INT, b[f], own, offsets, MPI_INT, w, i, &q[f]), f++;
    MPI_Alltoall_init(a[f], COUNT, MPI_INT, b[f], COUNT, MPI_INT, w, i, &q[f]), f++;
    MPI_Alltoallv_init(a[f], counts, equal, MPI_INT, b[f], counts, equal, MPI_INT, w, i, &q[f]), f++;
    MPI_Alltoallw_init(a[f], counts, bytes, types, b[f], counts, bytes, types, w, i, &q[f]), f++;
    MPI_Reduce_init(a[f], b[f], COUNT, MPI_INT, MPI_SUM, ROOT, w, i, &q[f]), f++;
    MPI_Allreduce_init(a[f], b[f], COUNT, MPI_INT, MPI_SUM, w, i, &q[f]), f++;
    MPI_Reduce_scatter_block_init(a[f], b[f], COUNT, MPI_INT, MPI_SUM, w, i, &q[f]), f++;
    MPI_Reduce_scatter_init(a[f], b[f], own, MPI_INT, MPI_SUM, w, i, &q[f]), f++;
    MPI_Scan_init(a[f], b[f], COUNT, MPI_INT, MPI_SUM, w, i, &q[f]), f++;
    MPI_Exscan_init(a[f], b[f], COUNT, MPI_INT, MPI_SUM, w, i, &q[f]), f++;
    return f;
}

/* Seen through a function, since a compiler takes it for an empty array. */
__attribute__((noinline)) static MPI_Status *ignored(void) { return MPI_STATUSES_IGNORE; }

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
    MPI_Request q[FORMS];
    int made = make(q, argc < 2 || strcmp(argv[1], "no-scatter"));
    for (int round = 0; round < 3; round++) {
        for (int f = 0; f < FORMS; f++)
            for (int i = 0; i < MOST * MOST; i++)
                a[f][i] = me + f + round, b[f][i] = f == 1 && me == ROOT ? 5 + round : -1;
        if (round == 1) {
            MPI_Startall(made, q);
            MPI_Waitall(made, q, ignored());
        } else {
            for (int f = 0; f < made; f++) MPI_Start(&q[f]);
            for (int f = made; f--;) MPI_Wait(&q[f], MPI_STATUS_IGNORE);
        }
        int sum = n * (n - 1) / 2;
        CHECK(b[1][0] == 5 + round && b[6][COUNT] == 1 + 6 + round && b[12][0] == sum + n * (12 + round));
        CHECK(b[9][COUNT] == 1 + 9 + round && b[10][COUNT] == 1 + 10 + round);
    }
    for (int f = 0; f < made; f++) MPI_Request_free(&q[f]);

    /* Of two on their own communicator rank 0 starts the first before the second, the others the second first. */
    MPI_Comm own_comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &own_comm);
    MPI_Comm_set_name(own_comm, "pair");
    MPI_Request pair[2];
    int in[2] = {me, 10 * me}, out[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        MPI_Allreduce_init(&in[i], &out[i], 1, MPI_INT, MPI_SUM, own_comm, MPI_INFO_NULL, &pair[i]);
    for (int round = 0; round < 4; round++) {
        int first = me ? 1 : 0;
        MPI_Start(&pair[first]);
        MPI_Start(&pair[!first]);
        MPI_Waitall(2, pair, ignored());
    }
    report("%d %d", out[0], out[1]);
    for (int i = 0; i < 2; i++) MPI_Request_free(&pair[i]);
    MPI_Comm_free(&own_comm);
    MPI_Finalize();
    return 0;
}
