/* What a program does with communicators and a collective, in phases; mock_ranks.c counts what a tool does in each.
 * With an argument it translates all ranks of the world once instead. */
#include <mpi.h>
#include <stdlib.h>

void mock_phase(const char *name) __attribute__((weak));

static void phase(const char *name)
{
    if (mock_phase) mock_phase(name);
}

enum { DUPLICATES = 100, OTHERS = 10, CALLS = 1000 };

static void translate(MPI_Group group, int size)
{
    int *ranks = malloc(size * sizeof *ranks), *found = malloc(size * sizeof *found);
    for (int i = 0; i < size; i++) ranks[i] = i;
    phase("groups");
    MPI_Group_translate_ranks(group, size, ranks, group, found);
    phase("translate");
    free(ranks);
    free(found);
}

int main(int argc, char **argv)
{
    MPI_Comm duplicates[DUPLICATES], halves[OTHERS], groups[OTHERS], inter;
    MPI_Group all, half;
    int size, rank, in = 1, out;

    phase("start");
    MPI_Init(&argc, &argv);
    phase("init");
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (argc > 1) {
        translate(all, size);
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < DUPLICATES; i++) MPI_Comm_dup(MPI_COMM_WORLD, &duplicates[i]);
    phase("dup");
    for (int i = 0; i < OTHERS; i++) MPI_Comm_split(MPI_COMM_WORLD, 1, 0, &halves[i]);
    phase("split");
    int range[1][3] = {{rank % 2, size - 1, 2}};
    MPI_Group_range_incl(all, 1, range, &half);
    phase("groups");
    for (int i = 0; i < OTHERS; i++) MPI_Comm_create_group(MPI_COMM_WORLD, half, i, &groups[i]);
    phase("create_group");
    MPI_Intercomm_create(groups[0], 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
    phase("intercomm_create");
    for (int i = 0; i < CALLS; i++) MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, duplicates[i % DUPLICATES]);
    phase("allreduce");
    MPI_Comm_free(&inter);
    for (int i = 0; i < OTHERS; i++) MPI_Comm_free(&groups[i]), MPI_Comm_free(&halves[i]);
    for (int i = 0; i < DUPLICATES; i++) MPI_Comm_free(&duplicates[i]);
    MPI_Group_free(&half);
    MPI_Group_free(&all);
    phase("free");
    MPI_Finalize();
    phase("finalize");
    return 0;
}
