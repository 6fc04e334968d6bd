/* The collectives over neighbours, blocking and non-blocking, on a ring (each rank has two) and on a star (rank 0 sends
 * to all, and receives from rank 1 twice); results checked. For three ranks or more. */
#include "report.h"

#define MOST 16

static int out[2 * MOST], in[2 * MOST];

/* Seen through a function, since a compiler takes it for an empty array. */
__attribute__((noinline)) static const int *unweighted(void) { return MPI_UNWEIGHTED; }

static void wait(MPI_Request *request) { MPI_Wait(request, MPI_STATUS_IGNORE); }

static void all(MPI_Comm comm, int sources, int destinations)
{
    int block[MOST], places[MOST];
    MPI_Aint far[MOST];
    MPI_Datatype types[MOST];
    MPI_Request q;
    for (int i = 0; i < MOST; i++)
        block[i] = 2, places[i] = 2 * i, far[i] = 2 * i * (int) sizeof(int), types[i] = MPI_INT;
    for (int i = 0; i < 2 * MOST; i++) out[i] = 100 * world_rank + i, in[i] = -1;

    MPI_Neighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, comm);
    MPI_Neighbor_allgatherv(out, 2, MPI_INT, in, block, places, MPI_INT, comm);
    MPI_Neighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, comm);
    MPI_Neighbor_alltoallv(out, block, places, MPI_INT, in, block, places, MPI_INT, comm);
    MPI_Neighbor_alltoallw(out, block, far, types, in, block, far, types, comm);
    MPI_Ineighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, comm, &q), wait(&q);
    MPI_Ineighbor_allgatherv(out, 2, MPI_INT, in, block, places, MPI_INT, comm, &q), wait(&q);
    MPI_Ineighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, comm, &q), wait(&q);
    MPI_Ineighbor_alltoallv(out, block, places, MPI_INT, in, block, places, MPI_INT, comm, &q), wait(&q);
    MPI_Ineighbor_alltoallw(out, block, far, types, in, block, far, types, comm, &q), wait(&q);
    for (int i = 0; i < 2 * sources; i++) CHECK(in[i] >= 0);
    report("%d from %d, %d: %d", destinations, sources, in[0], in[1]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    CHECK(world_size > 2 && world_size < MOST);

    MPI_Comm ring, star;
    int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, &periodic, 0, &ring);
    MPI_Comm_set_name(ring, "ring");
    all(ring, 2, 2);

    int everybody[MOST], twice[2] = {1, 1}, centre[2] = {0, 0};
    for (int i = 0; i < world_size; i++) everybody[i] = i;
    int to_centre = world_rank == 1 ? 2 : 0;
    int from_self = world_rank == 0;
    /* Rank 0 also sends to itself: its sources are rank 1 twice and rank 0. */
    int sources[3] = {1, 1, 0};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, from_self ? 3 : 1, from_self ? sources : centre, unweighted(),
        from_self ? world_size : to_centre, from_self ? everybody : to_centre ? centre : twice, unweighted(),
        MPI_INFO_NULL, 0, &star);
    MPI_Comm_set_name(star, "star");
    all(star, from_self ? 3 : 1, from_self ? world_size : to_centre);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&star);
    MPI_Finalize();
    return 0;
}
