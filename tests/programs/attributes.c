/* Attribute callbacks that free and make data types and communicators: what they free may come back as another thing.
 * A type of SMALL doubles is freed within MPI_Comm_free, and one of LARGE made within MPI_Comm_dup. */
#include "report.h"

enum { SMALL = 4, LARGE = 16, ROUNDS = 10 };

static MPI_Datatype type_of(int doubles)
{
    MPI_Datatype type;
    MPI_Type_contiguous(doubles, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* What the attribute of a communicator holds. */
struct held {
    MPI_Datatype type;
    MPI_Comm comm;
};

static int freed(MPI_Comm comm, int key, void *value, void *extra)
{
    struct held *held = value;
    (void)comm, (void)key, (void)extra;
    MPI_Type_free(&held->type);
    MPI_Comm_free(&held->comm);
    free(held);
    return MPI_SUCCESS;
}

static int copied(MPI_Comm comm, int key, void *extra, void *value, void *out, int *flag)
{
    struct held *made = malloc(sizeof *made), *old = value;
    (void)comm, (void)key, (void)extra;
    /* The old type goes, and the new one may get its handle. */
    MPI_Type_free(&old->type);
    made->type = type_of(LARGE);
    MPI_Comm_dup(MPI_COMM_SELF, &made->comm);
    old->type = type_of(SMALL);
    *(struct held **)out = made;
    *flag = 1;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    double buffer[LARGE], sum = 0;
    int key, flag;
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_create_keyval(copied, freed, &key, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm one, two;
        struct held *held = malloc(sizeof *held), *of_two;
        for (int j = 0; j < LARGE; j++) buffer[j] = world_rank == 0 ? i + j : -1;
        held->type = type_of(SMALL);
        MPI_Comm_dup(MPI_COMM_SELF, &held->comm);
        MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank, &one);
        MPI_Bcast(buffer, 1, held->type, 0, one);
        sum += buffer[SMALL - 1];
        MPI_Allreduce(MPI_IN_PLACE, buffer, 1, MPI_DOUBLE, MPI_SUM, held->comm);
        MPI_Comm_set_attr(one, key, held);
        MPI_Comm_dup(one, &two);
        MPI_Comm_get_attr(two, key, &of_two, &flag);
        CHECK(flag);
        for (int j = 0; j < LARGE; j++) buffer[j] = world_rank == 0 ? i + j : -1;
        MPI_Bcast(buffer, 1, of_two->type, 0, one);
        sum += buffer[LARGE - 1];
        MPI_Bcast(buffer, 1, held->type, 0, one);
        MPI_Barrier(of_two->comm);
        MPI_Comm_free(&two);
        MPI_Comm_free(&one);
        /* The handles of the types that went are free now. */
        MPI_Datatype last = type_of(SMALL + LARGE), dup;
        MPI_Type_dup(last, &dup);
        MPI_Type_free(&last);
        MPI_Type_free(&dup);
    }
    MPI_Comm_free_keyval(&key);
    report("%.17g", sum);
    MPI_Finalize();
    return 0;
}
