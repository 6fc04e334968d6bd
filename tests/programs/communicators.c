/* Communicators of every kind, one collective on each. For four ranks. */
#include "report.h"

static int total;

static void use(MPI_Comm comm)
{
    int one = world_rank + 1, sum = 0;
    if (comm == MPI_COMM_NULL) return;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    total = total * 7 + sum;
}

int main(int argc, char **argv)
{
    MPI_Comm dup, idup, info, half, reversed, node, created, grouped, cart, row, graph, adjacent, inter, merged, named;
    MPI_Group everyone, three;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    world();
    CHECK(world_size == 4);

    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    use(dup);
    MPI_Comm_idup(MPI_COMM_WORLD, &idup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(idup);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &info);
    use(info);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank / 2, 0, &half);
    use(half);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == 3 ? MPI_UNDEFINED : 5, -world_rank, &reversed);
    use(reversed);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    use(node);

    MPI_Comm_group(MPI_COMM_WORLD, &everyone);
    MPI_Group_incl(everyone, 3, (int[]){0, 1, 2}, &three);
    MPI_Comm_create(MPI_COMM_WORLD, three, &created);
    use(created);
    MPI_Group_free(&three);
    MPI_Group_incl(everyone, 3, (int[]){3, 1, 2}, &three);
    grouped = MPI_COMM_NULL;
    if (world_rank != 0) MPI_Comm_create_group(MPI_COMM_WORLD, three, 9, &grouped);
    use(grouped);

    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 2}, (int[]){1, 1}, 0, &cart);
    use(cart);
    MPI_Cart_sub(cart, (int[]){0, 1}, &row);
    use(row);
    MPI_Graph_create(MPI_COMM_WORLD, 4, (int[]){1, 2, 3, 4}, (int[]){1, 2, 3, 0}, 0, &graph);
    use(graph);
    int left = (world_rank + 3) % 4, right = (world_rank + 1) % 4, weight = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight, 1, &right, &weight, MPI_INFO_NULL, 0, &adjacent);
    use(adjacent);

    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, world_rank < 2 ? 2 : 0, 11, &inter);
    MPI_Barrier(inter);
    MPI_Intercomm_merge(inter, world_rank >= 2, &merged);
    use(merged);
    MPI_Comm_dup(MPI_COMM_WORLD, &named);
    MPI_Comm_set_name(named, "pressure solver");
    use(named);
    use(MPI_COMM_SELF);

    report("%d", total);
    MPI_Comm *all[] = {&dup, &idup, &info, &half, &node, &cart, &row, &graph, &adjacent, &inter, &merged, &named};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) MPI_Comm_free(all[i]);
    if (reversed != MPI_COMM_NULL) MPI_Comm_free(&reversed);
    if (created != MPI_COMM_NULL) MPI_Comm_free(&created);
    if (grouped != MPI_COMM_NULL) MPI_Comm_free(&grouped);
    MPI_Group_free(&three);
    MPI_Group_free(&everyone);
    MPI_Finalize();
    return 0;
}
