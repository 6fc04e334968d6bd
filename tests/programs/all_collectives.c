/* Every blocking collective of MPI 3.1 on intracommunicators, twice on the world, and twice with MPI_IN_PLACE on a
 * duplicate of it, results checked. The root is rank 1. Blocks are COUNT ints; in the v- and w-variants rank r owns
 * r + 1 ints. For two ranks or more. */
#include "report.h"

#define COUNT 6
#define ROOT 1
#define MOST 64

static int n, me, mine, all, in_place;
static int own[MOST], counts[MOST], offsets[MOST], equal[MOST], bytes[MOST];
static int a[MOST * MOST], b[MOST * MOST];
static MPI_Datatype types[MOST];
static long checksum;

/* What rank `from` sends as the i-th element of its block for rank `to`. */
static int value(int from, int to, int i) { return 1000 * from + 10 * to + i; }

static void clear(void)
{
    memset(a, 0xee, sizeof a);
    memset(b, 0xee, sizeof b);
}

static void expect(const int *got, int want)
{
    CHECK(*got == want);
    checksum = (checksum * 31 + want) % 1000003;
}

static void one_to_all(MPI_Comm comm)
{
    clear();
    if (me == ROOT) for (int i = 0; i < COUNT; i++) a[i] = value(ROOT, 0, i);
    MPI_Bcast(a, COUNT, MPI_INT, ROOT, comm);
    for (int i = 0; i < COUNT; i++) expect(a + i, value(ROOT, 0, i));

    clear();
    for (int r = 0; r < n; r++) for (int i = 0; i < COUNT; i++) a[r * COUNT + i] = value(ROOT, r, i);
    void *to = in_place && me == ROOT ? MPI_IN_PLACE : b;
    MPI_Scatter(a, COUNT, MPI_INT, to, COUNT, MPI_INT, ROOT, comm);
    const int *got = to == b ? b : a + me * COUNT;
    for (int i = 0; i < COUNT; i++) expect(got + i, value(ROOT, me, i));

    clear();
    for (int r = 0; r < n; r++) for (int i = 0; i < own[r]; i++) a[offsets[r] + i] = value(ROOT, r, i);
    MPI_Scatterv(a, own, offsets, MPI_INT, to, mine, MPI_INT, ROOT, comm);
    got = to == b ? b : a + offsets[me];
    for (int i = 0; i < mine; i++) expect(got + i, value(ROOT, me, i));
}

static void all_to_one(MPI_Comm comm)
{
    clear();
    for (int i = 0; i < COUNT; i++) a[i] = b[me * COUNT + i] = value(me, ROOT, i);
    void *from = in_place && me == ROOT ? MPI_IN_PLACE : a;
    MPI_Gather(from, COUNT, MPI_INT, b, COUNT, MPI_INT, ROOT, comm);
    if (me == ROOT) for (int r = 0; r < n; r++) expect(b + r * COUNT + 1, value(r, ROOT, 1));

    clear();
    for (int i = 0; i < mine; i++) a[i] = b[offsets[me] + i] = value(me, ROOT, i);
    MPI_Gatherv(from, mine, MPI_INT, b, own, offsets, MPI_INT, ROOT, comm);
    if (me == ROOT) for (int r = 0; r < n; r++) expect(b + offsets[r], value(r, ROOT, 0));

    clear();
    for (int i = 0; i < COUNT; i++) a[i] = b[i] = me + i;
    MPI_Reduce(from, b, COUNT, MPI_INT, MPI_SUM, ROOT, comm);
    if (me == ROOT) for (int i = 0; i < COUNT; i++) expect(b + i, n * (n - 1) / 2 + n * i);
}

static void all_to_all(MPI_Comm comm)
{
    void *from = in_place ? MPI_IN_PLACE : a;
    clear();
    for (int i = 0; i < COUNT; i++) a[i] = b[me * COUNT + i] = value(me, 0, i);
    MPI_Allgather(from, COUNT, MPI_INT, b, COUNT, MPI_INT, comm);
    for (int r = 0; r < n; r++) expect(b + r * COUNT + 2, value(r, 0, 2));

    clear();
    for (int i = 0; i < mine; i++) a[i] = b[offsets[me] + i] = value(me, 0, i);
    MPI_Allgatherv(from, mine, MPI_INT, b, own, offsets, MPI_INT, comm);
    for (int r = 0; r < n; r++) expect(b + offsets[r], value(r, 0, 0));

    clear();
    for (int r = 0; r < n; r++) for (int i = 0; i < COUNT; i++) a[r * COUNT + i] = b[r * COUNT + i] = value(me, r, i);
    MPI_Alltoall(from, COUNT, MPI_INT, b, COUNT, MPI_INT, comm);
    for (int r = 0; r < n; r++) expect(b + r * COUNT + 3, value(r, me, 3));

    clear();
    for (int r = 0; r < n; r++) for (int i = 0; i < COUNT; i++) a[r * COUNT + i] = b[r * COUNT + i] = value(me, r, i);
    MPI_Alltoallv(from, counts, equal, MPI_INT, b, counts, equal, MPI_INT, comm);
    for (int r = 0; r < n; r++) expect(b + r * COUNT + 1, value(r, me, 1));

    clear();
    for (int r = 0; r < n; r++) for (int i = 0; i < COUNT; i++) a[r * COUNT + i] = b[r * COUNT + i] = value(me, r, i);
    MPI_Alltoallw(from, counts, bytes, types, b, counts, bytes, types, comm);
    for (int r = 0; r < n; r++) expect(b + r * COUNT + 1, value(r, me, 1));
}

static void reductions(MPI_Comm comm)
{
    void *from = in_place ? MPI_IN_PLACE : a;
    clear();
    for (int i = 0; i < COUNT; i++) a[i] = b[i] = me + i;
    MPI_Allreduce(from, b, COUNT, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < COUNT; i++) expect(b + i, n * (n - 1) / 2 + n * i);

    clear();
    for (int i = 0; i < n * COUNT; i++) a[i] = b[i] = me + i;
    MPI_Reduce_scatter_block(from, b, COUNT, MPI_INT, MPI_SUM, comm);
    expect(b, n * (n - 1) / 2 + n * (me * COUNT));

    clear();
    for (int i = 0; i < all; i++) a[i] = b[i] = me + i;
    MPI_Reduce_scatter(from, b, own, MPI_INT, MPI_SUM, comm);
    expect(b, n * (n - 1) / 2 + n * offsets[me]);

    clear();
    a[0] = b[0] = me + 1;
    MPI_Scan(from, b, 1, MPI_INT, MPI_SUM, comm);
    expect(b, (me + 1) * (me + 2) / 2);

    clear();
    a[0] = b[0] = me + 1;
    MPI_Exscan(from, b, 1, MPI_INT, MPI_SUM, comm);
    if (me > 0) expect(b, me * (me + 1) / 2);
}

int main(int argc, char **argv)
{
    MPI_Comm dup;
    MPI_Init(&argc, &argv);
    world();
    n = world_size, me = world_rank, mine = me + 1;
    CHECK(n >= 2 && n <= 16);
    for (int r = 0; r < n; r++) {
        own[r] = r + 1, offsets[r] = all, all += own[r];
        counts[r] = COUNT, equal[r] = r * COUNT, bytes[r] = equal[r] * (int)sizeof(int), types[r] = MPI_INT;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    for (int i = 0; i < 4; i++) {
        in_place = i >= 2;
        MPI_Comm comm = in_place ? dup : MPI_COMM_WORLD;
        MPI_Barrier(comm);
        one_to_all(comm);
        all_to_one(comm);
        all_to_all(comm);
        reductions(comm);
    }
    report("%ld", checksum);
    MPI_Comm_free(&dup);
    MPI_Finalize();
    return 0;
}
