/* Ints, and handles that are ints, in registers and on the stack with something else in the upper half, as a compiler
 * may leave it there: only the lower half is the argument. Results checked. */
#include "checksum.h"

static const long upper = 3L << 32;

/* A handle as a long: in whole where it is a pointer, below the upper half where it is an int. */
#define WIDE(handle) (sizeof(handle) == sizeof(int) ? upper | (unsigned)(long)(handle) : (long)(handle))

/* Not inlined, so that the compiler does not know what lies in the upper halves. */
#define OUTSIDE __attribute__((noinline)) static int

OUTSIDE bcast(void *data, long count, long type, long root, long comm)
{
    return MPI_Bcast(data, (int)count, (MPI_Datatype)type, (int)root, (MPI_Comm)comm);
}
OUTSIDE allreduce(void *in, void *out, long count, long type, long op, long comm)
{
    return MPI_Allreduce(in, out, (int)count, (MPI_Datatype)type, (MPI_Op)op, (MPI_Comm)comm);
}
OUTSIDE gather(void *in, long sent, long type, void *out, long received, long root, long comm)
{
    return MPI_Gather(
        in, (int)sent, (MPI_Datatype)type, out, (int)received, (MPI_Datatype)type, (int)root, (MPI_Comm)comm);
}
OUTSIDE iallreduce(void *in, void *out, long count, long type, long op, long comm, MPI_Request *q)
{
    return MPI_Iallreduce(in, out, (int)count, (MPI_Datatype)type, (MPI_Op)op, (MPI_Comm)comm, q);
}
OUTSIDE split(long comm, long colour, long key, MPI_Comm *new)
{
    return MPI_Comm_split((MPI_Comm)comm, (int)colour, (int)key, new);
}
OUTSIDE irecv(void *data, long count, long type, long source, long tag, long comm, MPI_Request *q)
{
    return MPI_Irecv(data, (int)count, (MPI_Datatype)type, (int)source, (int)tag, (MPI_Comm)comm, q);
}
OUTSIDE waitall(long count, MPI_Request *q, MPI_Status *statuses) { return MPI_Waitall((int)count, q, statuses); }
OUTSIDE testall(long count, MPI_Request *q, int *flag, MPI_Status *statuses)
{
    return MPI_Testall((int)count, q, flag, statuses);
}
OUTSIDE waitany(long count, MPI_Request *q, int *index) { return MPI_Waitany((int)count, q, index, MPI_STATUS_IGNORE); }
OUTSIDE waitsome(long count, MPI_Request *q, int *some, int *indices, MPI_Status *statuses)
{
    return MPI_Waitsome((int)count, q, some, indices, statuses);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    int in[4] = {1, 2, 3, world_rank}, out[64] = {0}, index, flag, some, indices[3];
    MPI_Comm named_comm = named("halves"), part;
    long comm = WIDE(named_comm), type = WIDE(MPI_INT), sum = WIDE(MPI_SUM);

    bcast(in, upper | 3, type, upper | 1, comm);
    allreduce(in, out, upper | 4, type, sum, comm);
    CHECK(out[1] == 2 * world_size);
    gather(in, upper | 2, type, out, upper | 2, upper | 1, comm);
    CHECK(world_rank != 1 || out[3] == 2);
    split(comm, upper | 7, upper | (unsigned)-world_rank, &part);
    int reversed;
    MPI_Comm_rank(part, &reversed);
    CHECK(reversed == world_size - 1 - world_rank);
    MPI_Comm_set_name(part, "part");
    allreduce(in, out, upper | 4, type, WIDE(MPI_MAX), WIDE(part));
    for (int way = 0; way < 4; way++) {
        int got = -1, left = 3;
        MPI_Request q[3];
        irecv(&got, upper | 1, type, upper | (unsigned)world_rank, upper | 5, comm, &q[0]);
        iallreduce(in, out, upper | 4, type, sum, comm, &q[1]);
        MPI_Isend(&in[3], 1, MPI_INT, world_rank, 5, named_comm, &q[2]);
        if (way == 0) waitall(upper | 3, q, statuses_ignored());
        if (way == 1) do testall(upper | 3, q, &flag, statuses_ignored()); while (!flag);
        if (way == 2) while (left--) waitany(upper | 3, q, &index);
        if (way == 3) for (; left > 0; left -= some) waitsome(upper | 3, q, &some, indices, statuses_ignored());
        CHECK(got == world_rank && out[2] == 3 * world_size);
    }
    report("done");
    MPI_Comm_free(&part);
    MPI_Comm_free(&named_comm);
    MPI_Finalize();
    return 0;
}
