/* edges HOW: the collectives over neighbours of four ranks in topologies of all kinds, each on a communicator that is named
 * after both. Edges have amounts of their own.
 *   right     what is received was sent
 *   amounts   once on each communicator rank 1 receives one integer more from each rank
 *   kinds     once on each communicator rank 1 receives floats, where integers were sent */
#include "report.h"

enum { RANKS = 4, MOST = 16, ROOM = 16 };

static int out[MOST * ROOM], in[MOST * ROOM];

/* Edges from each rank to each: several, to itself, none at rank 3. */
static const int edges[RANKS][RANKS] = {{1, 2, 1, 0}, {3, 0, 1, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}};

/* This rank's sources and destinations; the number of each edge among those between its two ranks. */
struct ends {
    int count, ranks[MOST], numbers[MOST];
};

static void number(struct ends *ends)
{
    for (int k = 0; k < ends->count; k++) {
        ends->numbers[k] = 0;
        for (int j = 0; j < k; j++) ends->numbers[k] += ends->ranks[j] == ends->ranks[k];
    }
}

/* The edges of this rank by the table. */
static void of_table(struct ends *from, struct ends *to)
{
    from->count = to->count = 0;
    for (int other = RANKS - 1; other >= 0; other--) {
        for (int k = 0; k < edges[other][world_rank]; k++) from->ranks[from->count++] = other;
        for (int k = 0; k < edges[world_rank][other]; k++) to->ranks[to->count++] = other;
    }
}

static MPI_Comm cartesian(int dimensions, int first, int second, int periodic)
{
    MPI_Comm made;
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, (int[]){first, second}, (int[]){periodic, periodic}, 0, &made);
    return made;
}

/* Rank 0 is connected with each of the others, with rank 1 twice. */
static MPI_Comm star(void)
{
    MPI_Comm made;
    MPI_Graph_create(MPI_COMM_WORLD, RANKS, (int[]){4, 6, 7, 8}, (int[]){1, 2, 1, 3, 0, 0, 0, 0}, 0, &made);
    return made;
}

static MPI_Comm adjacent(void)
{
    int weights[MOST] = {0};
    struct ends from, to;
    MPI_Comm made;
    of_table(&from, &to);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, from.count, from.ranks, weights, to.count, to.ranks, weights,
                                   MPI_INFO_NULL, 0, &made);
    return made;
}

static MPI_Comm distributed(void)
{
    int weights[MOST] = {0};
    struct ends from, to;
    MPI_Comm made;
    of_table(&from, &to);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &world_rank, &to.count, to.ranks, weights, MPI_INFO_NULL, 0, &made);
    return made;
}

static MPI_Comm part_of(MPI_Comm whole)
{
    MPI_Comm made;
    MPI_Cart_sub(whole, (int[]){0, 1}, &made);
    MPI_Comm_free(&whole);
    return made;
}

static MPI_Comm copy_of(MPI_Comm original)
{
    MPI_Comm made;
    MPI_Comm_dup(original, &made);
    MPI_Comm_free(&original);
    return made;
}

static MPI_Comm make(int topology)
{
    switch (topology) {
        case 0: return cartesian(1, RANKS, 0, 1);
        case 1: return cartesian(1, RANKS, 0, 0);
        case 2: return cartesian(2, RANKS, 1, 1);
        case 3: return cartesian(2, 2, 2, 1);
        case 4: return cartesian(2, 1, RANKS, 0);
        case 5: return star();
        case 6: return adjacent();
        case 7: return distributed();
        case 8: return copy_of(adjacent());
        default: return part_of(cartesian(2, 2, 2, 1));
    }
}

static const char *const topologies[] = {"ring", "line", "wide", "torus", "border", "star", "adjacent", "distributed", "copy", "part"};
enum { TOPOLOGIES = sizeof topologies / sizeof *topologies };

/* The ends of this rank's edges, asked of MPI. */
static void ask(MPI_Comm comm, struct ends *from, struct ends *to)
{
    int kind, dimensions, weighted, weights[MOST], rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        MPI_Cartdim_get(comm, &dimensions);
        for (int k = 0; k < dimensions; k++) MPI_Cart_shift(comm, k, 1, &from->ranks[2 * k], &from->ranks[2 * k + 1]);
        from->count = 2 * dimensions;
        *to = *from;
    } else if (kind == MPI_GRAPH) {
        MPI_Graph_neighbors_count(comm, rank, &from->count);
        MPI_Graph_neighbors(comm, rank, MOST, from->ranks);
        *to = *from;
    } else {
        MPI_Dist_graph_neighbors_count(comm, &from->count, &to->count, &weighted);
        MPI_Dist_graph_neighbors(comm, from->count, from->ranks, weights, to->count, to->ranks, weights);
    }
    number(from);
    number(to);
    /* Which of two edges is which in a torus of two is not the same in all libraries. */
    if (kind == MPI_CART) memset(from->numbers, 0, sizeof from->numbers), memset(to->numbers, 0, sizeof to->numbers);
}

static const char *const functions[] = {"Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall",
    "Neighbor_alltoallv", "Neighbor_alltoallw", "Ineighbor_allgather", "Ineighbor_allgatherv", "Ineighbor_alltoall",
    "Ineighbor_alltoallv", "Ineighbor_alltoallw"};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* `more` integers are received beyond those that were sent, as this type. */
static void call(int function, MPI_Comm comm, int more, MPI_Datatype as)
{
    struct ends from, to;
    int rank, sent[MOST], received[MOST], by_rank[MOST], places[MOST];
    MPI_Aint far[MOST];
    MPI_Datatype types[MOST], others[MOST], pair, pairs;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_contiguous(2, as, &pairs);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&pairs);
    ask(comm, &from, &to);
    for (int k = 0; k < MOST; k++) {
        places[k] = ROOM * k;
        far[k] = places[k] * (int)sizeof(int);
        types[k] = k % 2 ? pair : MPI_INT;
        others[k] = as;
    }
    for (int k = 0; k < to.count; k++) sent[k] = (3 * rank + 2 * to.ranks[k]) % 5 + to.numbers[k];
    for (int k = 0; k < from.count; k++) {
        received[k] = (3 * from.ranks[k] + 2 * rank) % 5 + from.numbers[k] + more;
        by_rank[k] = 1 + from.ranks[k] + more;
        /* What is from no rank counts nothing. */
        if (from.ranks[k] == MPI_PROC_NULL) received[k] = by_rank[k] = 7;
    }
    for (int k = 0; k < to.count; k++) if (to.ranks[k] == MPI_PROC_NULL) sent[k] = 5;
    switch (function) {
        case 0: MPI_Neighbor_allgather(out, 1, pair, in, 2 + more, as, comm); break;
        case 1: MPI_Neighbor_allgatherv(out, 1 + rank, MPI_INT, in, by_rank, places, as, comm); break;
        case 2: MPI_Neighbor_alltoall(out, 4, MPI_INT, in, 2 + more, pairs, comm); break;
        case 3: MPI_Neighbor_alltoallv(out, sent, places, MPI_INT, in, received, places, as, comm); break;
        case 5: MPI_Ineighbor_allgather(out, 1, pair, in, 2 + more, as, comm, &request); break;
        case 6: MPI_Ineighbor_allgatherv(out, 1 + rank, MPI_INT, in, by_rank, places, as, comm, &request); break;
        case 7: MPI_Ineighbor_alltoall(out, 4, MPI_INT, in, 2 + more, pairs, comm, &request); break;
        case 8: MPI_Ineighbor_alltoallv(out, sent, places, MPI_INT, in, received, places, as, comm, &request); break;
    }
    /* Two integers of one type are sent where one of the other is. */
    for (int k = 0; k < to.count; k++) if (k % 2 && sent[k] % 2) types[k] = MPI_INT;
    for (int k = 0; k < to.count; k++) if (types[k] == pair) sent[k] /= 2;
    if (function == 4) MPI_Neighbor_alltoallw(out, sent, far, types, in, received, far, others, comm);
    if (function == 9) MPI_Ineighbor_alltoallw(out, sent, far, types, in, received, far, others, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&pair);
    MPI_Type_free(&pairs);
}

int main(int argc, char **argv)
{
    char name[64];
    const char *how = argc > 1 ? argv[1] : "right";
    MPI_Init(&argc, &argv);
    world();
    CHECK(world_size == RANKS);
    for (int k = 0; k < TOPOLOGIES * FUNCTIONS; k++) {
        int function = k % FUNCTIONS, is_wrong = world_rank == 1;
        MPI_Comm comm = make(k / FUNCTIONS);
        snprintf(name, sizeof name, "%s-%s", topologies[k / FUNCTIONS], functions[function]);
        MPI_Comm_set_name(comm, name);
        for (int time = 0; time < 3; time++) {
            int more = time == 1 && is_wrong && !strcmp(how, "amounts");
#ifdef OPEN_MPI
            /* Open MPI compares both sides of a rank. */
            if (function % 5 == 2) more = 0;
#endif
            call(function, comm, more, time == 1 && is_wrong && !strcmp(how, "kinds") ? MPI_FLOAT : MPI_INT32_T);
        }
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return 0;
}
