/* Communicators by the ways that communicators.c leaves out: several under way at once, in groups that make theirs at
 * the same time, of intercommunicators, with ranks left out, after mistakes. Each gets an Allreduce, and a name but for
 * those of MPI_Comm_idup. For four ranks. */
#include "checksum.h"

/* Open MPI 4 has none. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION > 4)
#define IDUP_WITH_INFO
#endif

static int total;

static void use(MPI_Comm comm, const char *name)
{
    int one = world_rank + 1, sum = 0;
    if (comm == MPI_COMM_NULL) return;
    if (name) MPI_Comm_set_name(comm, name);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    total = (total * 7 + sum) % 1000003;
}

static void used(MPI_Comm comm, const char *name)
{
    use(comm, name);
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

static MPI_Group of(MPI_Comm comm, int count, const int *ranks)
{
    MPI_Group all, some;
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, count, ranks, &some);
    MPI_Group_free(&all);
    return some;
}

/* Three under way at once, completed from the last to the first. */
static void duplicates(void)
{
    MPI_Comm dups[3], child;
    MPI_Request q[3];
    for (int i = 0; i < 3; i++) MPI_Comm_idup(MPI_COMM_WORLD, &dups[i], &q[i]);
    for (int i = 3; i--;) MPI_Wait(&q[i], MPI_STATUS_IGNORE);
    used(dups[2], NULL);
    used(dups[0], NULL);
    /* No collective but this one is called on it. */
    MPI_Comm_dup(dups[1], &child);
    used(child, "dup of an idup");
    MPI_Comm_free(&dups[1]);
#ifdef IDUP_WITH_INFO
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &dups[0], &q[0]);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    used(dups[0], NULL);
#endif
}

static void groups(void)
{
    MPI_Comm comm;
    int pair[2] = {world_rank / 2 * 2, world_rank / 2 * 2 + 1};
    MPI_Group ours = of(MPI_COMM_WORLD, 2, pair), alone = of(MPI_COMM_WORLD, 1, &world_rank);
    MPI_Comm_create(MPI_COMM_WORLD, ours, &comm);
    used(comm, world_rank < 2 ? "lower pair" : "upper pair");
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm);
    CHECK(comm == MPI_COMM_NULL);
    /* The same once more, and under another tag. */
    for (int i = 0; i < 3; i++) {
        MPI_Comm_create_group(MPI_COMM_WORLD, ours, 5 + i / 2, &comm);
        char name[32];
        sprintf(name, "%s group %d", world_rank < 2 ? "lower" : "upper", i);
        used(comm, name);
    }
    MPI_Comm_create_group(MPI_COMM_WORLD, alone, 5, &comm);
    char name[16];
    sprintf(name, "rank %d alone", world_rank);
    used(comm, name);
    MPI_Group_free(&ours);
    MPI_Group_free(&alone);
}

static void split(void)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &comm);
    CHECK(comm == MPI_COMM_NULL);
    MPI_Comm_split_type(MPI_COMM_WORLD, world_rank == 2 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0,
        MPI_INFO_NULL, &comm);
    used(comm, "node without rank 2");
    MPI_Comm_split(MPI_COMM_WORLD, world_rank, 0, &comm);
    char name[16];
    sprintf(name, "colour %d", world_rank);
    used(comm, name);
}

static void topologies(void)
{
    MPI_Comm grid, comm;
    int sources[1] = {world_rank}, degrees[1] = {2}, weights[2] = {1, 1};
    int destinations[2] = {(world_rank + 1) % 4, (world_rank + 3) % 4};
    MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){3}, (int[]){1}, 0, &comm);
    used(comm, "grid of three");
    MPI_Graph_create(MPI_COMM_WORLD, 2, (int[]){1, 2}, (int[]){1, 0}, 0, &comm);
    used(comm, "graph of two");
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 2}, (int[]){0, 0}, 0, &grid);
    MPI_Cart_sub(grid, (int[]){1, 0}, &comm);
    used(comm, world_rank % 2 ? "second column" : "first column");
    MPI_Cart_sub(grid, (int[]){1, 1}, &comm);
    used(comm, "whole grid");
    used(grid, "grid");
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, degrees, destinations, weights, MPI_INFO_NULL, 0, &comm);
    used(comm, "distributed graph");
}

/* The lower and the upper half. */
static void two_sides(void)
{
    MPI_Comm half, twice[2], comm, merged;
    MPI_Request q;
    int upper = world_rank >= 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, 0, &half);
    for (int i = 0; i < 2; i++) MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : 2, 3, &twice[i]);
    use(twice[1], "two sides again");
    use(twice[0], "two sides");
    for (int i = 0; i < 2; i++) {
        MPI_Intercomm_merge(twice[i], upper == i, &merged);
        used(merged, i ? "merged, upper half last" : "merged, lower half last");
    }
    MPI_Comm_dup(twice[0], &comm);
    used(comm, "dup of two sides");
    MPI_Comm_idup(twice[0], &comm, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    used(comm, NULL);
    MPI_Comm_split(twice[0], world_rank % 2, 0, &comm);
    used(comm, world_rank % 2 ? "odd ranks of two sides" : "even ranks of two sides");
    MPI_Group first = of(half, 1, (int[]){0});
    MPI_Comm_create(twice[0], first, &comm);
    used(comm, "first ranks of two sides");
    MPI_Group_free(&first);
    for (int i = 0; i < 2; i++) MPI_Comm_free(&twice[i]);
    MPI_Comm_free(&half);
}

/* Rank 0 alone; all of them are refused before any other rank is asked. */
static void mistakes(void)
{
    MPI_Comm comm = MPI_COMM_NULL, null = MPI_COMM_NULL;
    MPI_Request q;
    if (world_rank == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        int errors = 0;
        errors += MPI_Comm_dup(MPI_COMM_NULL, &comm) != MPI_SUCCESS;
        errors += MPI_Comm_idup(MPI_COMM_NULL, &comm, &q) != MPI_SUCCESS;
        errors += MPI_Comm_split(MPI_COMM_NULL, 0, 0, &comm) != MPI_SUCCESS;
        errors += MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &comm) != MPI_SUCCESS;
        errors += MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){9}, (int[]){0}, 0, &comm) != MPI_SUCCESS;
        errors += MPI_Cart_sub(MPI_COMM_WORLD, (int[]){1}, &comm) != MPI_SUCCESS;
        errors += MPI_Comm_free(&null) != MPI_SUCCESS;
        errors += MPI_Comm_set_name(MPI_COMM_NULL, "none") != MPI_SUCCESS;
        CHECK(errors == 8);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    used(comm, "after mistakes");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    CHECK(world_size == 4);
    duplicates();
    groups();
    split();
    topologies();
    two_sides();
    mistakes();
    report("%d", total);
    MPI_Finalize();
    return 0;
}
