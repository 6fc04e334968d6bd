/* constructors HOW: a program of two ranks. Types of six integers are made in each way, of a type that is freed before
 * they are used; each is broadcast by rank 0 on a communicator with the name of its constructor.
 *   other   rank 1 receives six floats
 *   same    rank 1 receives six integers, and no type is freed
 *   loop    types are made and freed in turns, also in the place of others, and never used; then one is used often */
#include "report.h"

static MPI_Datatype inner, made[32];
static int kinds;
static char how;

static void broadcast(const char *name, MPI_Datatype type)
{
    int buffer[64] = {0}, is_plain = world_rank == 1;
    MPI_Datatype plain = how == 'o' ? MPI_FLOAT : MPI_INT;
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_set_name(dup, name);
    MPI_Type_commit(&type);
    for (int turn = 0; turn < (how == 'o' ? 1 : 3); turn++)
        MPI_Bcast(buffer, is_plain ? 6 : 1, is_plain ? plain : type, 0, dup);
    MPI_Comm_free(&dup);
    made[kinds++] = type;
}

/* Makes a type by a call, of `inner`, which is an integer. */
#define MAKE(name, call)                                                                                               \
    do {                                                                                                               \
        MPI_Datatype type;                                                                                             \
        MPI_Type_contiguous(1, MPI_INT, &inner);                                                                       \
        call;                                                                                                          \
        MPI_Type_free(&inner);                                                                                         \
        broadcast(name, type);                                                                                         \
    } while (0)

static void make_all(void)
{
    int two[] = {2, 4}, places[] = {0, 3}, thrice[] = {0, 3, 6}, whole[] = {4, 4}, part[] = {2, 3}, start[] = {1, 1};
    int six[] = {6}, none[] = {MPI_DISTRIBUTE_NONE}, default_[] = {MPI_DISTRIBUTE_DFLT_DARG}, one[] = {1};
    MPI_Aint bytes[] = {0, 16}, thrice_bytes[] = {0, 12, 24};
    MPI_Datatype types[2], wide;
    MAKE("contiguous", MPI_Type_contiguous(6, inner, &type));
    MAKE("vector", MPI_Type_vector(2, 3, 4, inner, &type));
    MAKE("hvector", MPI_Type_create_hvector(2, 3, 20, inner, &type));
    MAKE("indexed", MPI_Type_indexed(2, two, places, inner, &type));
    MAKE("hindexed", MPI_Type_create_hindexed(2, two, bytes, inner, &type));
    MAKE("indexed_block", MPI_Type_create_indexed_block(3, 2, thrice, inner, &type));
    MAKE("hindexed_block", MPI_Type_create_hindexed_block(3, 2, thrice_bytes, inner, &type));
    MAKE("subarray", MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, inner, &type));
    MAKE("darray", MPI_Type_create_darray(1, 0, 1, six, none, default_, one, MPI_ORDER_C, inner, &type));
    MAKE("struct", (types[0] = inner, types[1] = MPI_INT, MPI_Type_create_struct(2, two, bytes, types, &type)));
    MAKE("struct of one", MPI_Type_create_struct(1, six, bytes, &inner, &type));
    MAKE("resized", (MPI_Type_contiguous(6, inner, &wide), MPI_Type_create_resized(wide, 0, 40, &type),
                     MPI_Type_free(&wide)));
    MAKE("dup", (MPI_Type_contiguous(6, inner, &wide), MPI_Type_dup(wide, &type), MPI_Type_free(&wide)));
    MAKE("committed dup", (MPI_Type_contiguous(6, inner, &wide), MPI_Type_commit(&wide), MPI_Type_dup(wide, &type),
                           MPI_Type_free(&wide)));
}

static void loop(void)
{
    double buffer[8] = {0};
    MPI_Datatype type, wide, types[2];
    MPI_Aint bytes[] = {0, 8};
    for (int turn = 0; turn < 3000; turn++) {
        types[0] = turn % 20 ? MPI_INT : MPI_DOUBLE;
        types[1] = MPI_DOUBLE;
        MPI_Type_vector(1 + turn % 3, 1, 2, types[0], &type);
        MPI_Type_contiguous(1, type, &wide);
        MPI_Type_free(&type);
        MPI_Type_commit(&wide);
        MPI_Type_free(&wide);
        MPI_Type_create_struct(2, (int[]){1, 1}, bytes, types, &type);
        MPI_Type_commit(&type);
        if (turn % 10 == 0) MPI_Bcast(buffer, 1, type, 0, MPI_COMM_WORLD);
        MPI_Type_free(&type);
    }
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int turn = 0; turn < 100; turn++) MPI_Bcast(buffer, 1, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    for (int turn = 0; turn < 100; turn++) MPI_Bcast(buffer, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    how = argc > 1 ? argv[1][0] : 's';
    if (how == 'l') loop();
    else make_all();
    for (int kind = 0; kind < kinds && how == 'o'; kind++) MPI_Type_free(&made[kind]);
    MPI_Finalize();
    return 0;
}
