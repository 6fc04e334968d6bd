/* Handles that come back: a freed datatype, operator or communicator gives its value to the next one made. */
#include "report.h"

#define ROUNDS 60

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) ((double *)inout)[i] += ((double *)in)[i];
}

static void largest(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        if (((double *)in)[i] > ((double *)inout)[i]) ((double *)inout)[i] = ((double *)in)[i];
}

int main(int argc, char **argv)
{
    double buffer[16], sum = 0;
    MPI_Init(&argc, &argv);
    world();

    /* 32, 64 and 128 bytes in turn. */
    for (int i = 0; i < 3 * ROUNDS; i++) {
        MPI_Datatype type;
        int doubles = 4 << i % 3;
        for (int j = 0; j < 16; j++) buffer[j] = world_rank == 0 ? i + j : -1;
        MPI_Type_contiguous(doubles, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Bcast(buffer, 1, type, 0, MPI_COMM_WORLD);
        MPI_Type_free(&type);
        sum += buffer[doubles - 1];
    }

    /* Operators made by the program, between the ones that MPI has. */
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Op op;
        double mine = world_rank + i, all;
        MPI_Op_create(i % 2 ? add : largest, 1, &op);
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
        MPI_Op_free(&op);
        sum += all;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, i % 2 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
        sum += all;
    }

    /* Communicators; the fifth has a name, which the next must not inherit. */
    for (int i = 0; i < 12; i++) {
        MPI_Comm comm;
        double mine = i, all;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (i == 4) MPI_Comm_set_name(comm, "the fifth");
        for (int j = 0; j <= i; j++) MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
        MPI_Comm_free(&comm);
        sum += all;
    }
    report("%.17g", sum);
    MPI_Finalize();
    return 0;
}
