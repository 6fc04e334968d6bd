/* groups HOW: collectives of two groups of different sizes, each function on an intercommunicator that is named after it.
 *   right     what is received was sent
 *   amounts   once on each communicator rank 1 receives one integer more than was sent, or reduces one more
 *   kinds     once on each communicator rank 1 receives or sends floats, where the others have integers */
#include "report.h"

enum { RANKS = 4, ROOM = 16 };

static int out[RANKS * ROOM], in[RANKS * ROOM];

/* Rank 2 is alone in one group. */
static const int groups[2][RANKS] = {{0, 1, 3}, {2}}, sizes[2] = {3, 1};

static const char *const functions[] = {"Alltoallv", "Alltoallw", "Ialltoallv", "Gatherv", "Igatherv", "Scatterv",
    "Iscatterv", "Allgatherv", "Reduce_scatter", "Bcast", "Reduce", "Gather", "Scatter", "Allreduce", "Allgather", "Alltoall"};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* `more` integers are received, as this type. The root is rank 1, and in calls that it sends in rank 2. */
static void call(const char *name, MPI_Comm comm, int more, MPI_Datatype as)
{
    int side = world_rank == 2, peers = sizes[!side], sent[RANKS], received[RANKS], places[RANKS], block = 1 + world_rank;
    int far[RANKS], to_first = side ? MPI_ROOT : 0;
    int to_root = side ? 1 : world_rank == 1 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Datatype types[RANKS], others[RANKS];
    MPI_Request request = MPI_REQUEST_NULL;
    for (int k = 0; k < peers; k++) {
        int other = groups[!side][k];
        sent[k] = (3 * world_rank + other) % 5 + 1;
        received[k] = (3 * other + world_rank) % 5 + 1 + more;
        places[k] = ROOM * k;
        far[k] = places[k] * (int)sizeof(int);
        types[k] = MPI_INT;
        others[k] = as;
    }
    int blocks[RANKS];
    for (int k = 0; k < peers; k++) blocks[k] = 1 + groups[!side][k] + more;
    if (!strcmp(name, "Alltoallv")) MPI_Alltoallv(out, sent, places, MPI_INT, in, received, places, as, comm);
    if (!strcmp(name, "Ialltoallv")) MPI_Ialltoallv(out, sent, places, MPI_INT, in, received, places, as, comm, &request);
    if (!strcmp(name, "Alltoallw")) MPI_Alltoallw(out, sent, far, types, in, received, far, others, comm);
    if (!strcmp(name, "Allgatherv")) MPI_Allgatherv(out, block, MPI_INT, in, blocks, places, as, comm);
    if (!strcmp(name, "Gatherv")) MPI_Gatherv(out, block, MPI_INT, in, blocks, places, as, to_root, comm);
    if (!strcmp(name, "Igatherv")) MPI_Igatherv(out, block, MPI_INT, in, blocks, places, as, to_root, comm, &request);
    for (int k = 0; k < peers; k++) blocks[k] = 1 + groups[!side][k];
    if (!strcmp(name, "Scatterv")) MPI_Scatterv(out, blocks, places, MPI_INT, in, block + more, as, to_first, comm);
    if (!strcmp(name, "Iscatterv"))
        MPI_Iscatterv(out, blocks, places, MPI_INT, in, block + more, as, to_first, comm, &request);
    /* 6 integers in both groups; ranks of one pass the same. */
    int equal[RANKS] = {1, 2, 3}, whole[RANKS] = {6};
    if (!strcmp(name, "Reduce_scatter")) MPI_Reduce_scatter(out, in, side ? whole : equal, as, MPI_SUM, comm);
    if (!strcmp(name, "Bcast")) MPI_Bcast(out, 2, as, to_first, comm);
    if (!strcmp(name, "Reduce")) MPI_Reduce(out, in, 2, as, MPI_SUM, to_root, comm);
    if (!strcmp(name, "Gather")) MPI_Gather(out, 2, MPI_INT, in, 2, as, to_root, comm);
    if (!strcmp(name, "Scatter")) MPI_Scatter(out, 2, MPI_INT, in, 2, as, to_first, comm);
    if (!strcmp(name, "Allreduce")) MPI_Allreduce(out, in, 2, as, MPI_SUM, comm);
    /* Each group sends another amount. */
    if (!strcmp(name, "Allgather")) MPI_Allgather(out, 1 + side, MPI_INT, in, 2 - side, as, comm);
    if (!strcmp(name, "Alltoall")) MPI_Alltoall(out, 1 + side, MPI_INT, in, 2 - side, as, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "right";
    MPI_Comm half, both, dup;
    MPI_Init(&argc, &argv);
    world();
    CHECK(world_size == RANKS);
    int side = world_rank == 2, is_wrong = world_rank == 1;
    MPI_Comm_split(MPI_COMM_WORLD, side, world_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, side ? 0 : 2, 7, &both);
    for (int k = 0; k < FUNCTIONS; k++) {
        MPI_Comm_dup(both, &dup);
        MPI_Comm_set_name(dup, functions[k]);
        /* Of the others a library finds itself that amounts differ. */
        int may_differ = k < 7 && !strcmp(how, "amounts");
        for (int time = 0; time < 3; time++) {
            int wrong = time == 1 && is_wrong;
            call(functions[k], dup, wrong && may_differ, wrong && !strcmp(how, "kinds") ? MPI_FLOAT : MPI_INT);
        }
        MPI_Comm_free(&dup);
    }
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
