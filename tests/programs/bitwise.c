/* What a tool between a program and its MPI library could spoil: MPI_IN_PLACE and MPI_BOTTOM, statuses, operators and
 * error handlers of the program's own, derived types, shares that differ, intercommunicators. A checksum of every
 * result buffer is reported, so that two runs can be compared bit by bit. For an even number of ranks. */
#include "checksum.h"

#define COUNT 5
#define MOST 16

static int n, me, left, right;
static double in[MOST * MOST], out[MOST * MOST];
static int ones[MOST], zeros[MOST];

static void clear(void)
{
    fill(in, MOST * MOST, 0);
    for (int i = 0; i < MOST * MOST; i++) out[i] = -1;
}

static void show(const char *what) { checksum(what, out, sizeof out); }
static void wait(MPI_Request *request) { MPI_Wait(request, MPI_STATUS_IGNORE); }

/* Two pieces of a buffer, COUNT doubles in all, under their absolute addresses. */
static MPI_Datatype absolute(const double *first, const double *second)
{
    MPI_Aint places[2];
    MPI_Datatype type;
    MPI_Get_address(first, &places[0]);
    MPI_Get_address(second, &places[1]);
    MPI_Type_create_hindexed(2, (int[]){2, COUNT - 2}, places, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void bottom(void)
{
    MPI_Comm comm = named("bottom");
    MPI_Request q;
    MPI_Datatype from = absolute(in + 40, in + 3), to = absolute(out + 7, out + 100), froms[MOST], tos[MOST];
    for (int r = 0; r < n; r++) {
        froms[r] = absolute(in + r, in + 50 + 3 * r);
        tos[r] = absolute(out + 20 * r + 10, out + 20 * r);
    }

    clear(), MPI_Bcast(MPI_BOTTOM, 1, me == 0 ? from : to, 0, comm), show("Bcast of MPI_BOTTOM");
    clear(), MPI_Ibcast(MPI_BOTTOM, 1, me == 1 ? from : to, 1, comm, &q), wait(&q), show("Ibcast of MPI_BOTTOM");
    clear(), MPI_Gather(MPI_BOTTOM, 1, from, out, COUNT, MPI_DOUBLE, 0, comm), show("Gather from MPI_BOTTOM");
    clear(), MPI_Scatter(in, COUNT, MPI_DOUBLE, MPI_BOTTOM, 1, to, 0, comm), show("Scatter to MPI_BOTTOM");
    clear(), MPI_Iallgather(MPI_BOTTOM, 1, from, out, COUNT, MPI_DOUBLE, comm, &q), wait(&q);
    show("Iallgather from MPI_BOTTOM");
    clear(), MPI_Alltoallw(MPI_BOTTOM, ones, zeros, froms, MPI_BOTTOM, ones, zeros, tos, comm);
    show("Alltoallw in MPI_BOTTOM");
    clear(), MPI_Ialltoallw(MPI_BOTTOM, ones, zeros, froms, MPI_BOTTOM, ones, zeros, tos, comm, &q), wait(&q);
    show("Ialltoallw in MPI_BOTTOM");

    for (int r = 0; r < n; r++) MPI_Type_free(&froms[r]), MPI_Type_free(&tos[r]);
    MPI_Type_free(&from), MPI_Type_free(&to);
    MPI_Comm_free(&comm);
}

/* The blocking ones are in all_collectives.c. */
static void in_place(void)
{
    MPI_Comm comm = named("in place");
    MPI_Request q;
    int counts[MOST], places[MOST], bytes[MOST];
    MPI_Datatype types[MOST];
    for (int r = 0; r < MOST; r++) counts[r] = 2, places[r] = 2 * r, bytes[r] = 16 * r, types[r] = MPI_DOUBLE;
    void *here = MPI_IN_PLACE;
    void *mine = me == 0 ? here : in, *to = me == 0 ? here : out;

#define ALSO_IN_PLACE(name, ...) \
    (clear(), fill(out, 2 * n, 1), MPI_I##name(__VA_ARGS__, comm, &q), wait(&q), show("I" #name))
    ALSO_IN_PLACE(gather, mine, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, 0);
    ALSO_IN_PLACE(gatherv, mine, 2, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, 0);
    ALSO_IN_PLACE(scatter, in, 2, MPI_DOUBLE, to, 2, MPI_DOUBLE, 0);
    ALSO_IN_PLACE(scatterv, in, counts, places, MPI_DOUBLE, to, 2, MPI_DOUBLE, 0);
    ALSO_IN_PLACE(allgather, here, 0, MPI_DATATYPE_NULL, out, 2, MPI_DOUBLE);
    ALSO_IN_PLACE(allgatherv, here, 0, MPI_DATATYPE_NULL, out, counts, places, MPI_DOUBLE);
    ALSO_IN_PLACE(alltoall, here, 0, MPI_DATATYPE_NULL, out, 2, MPI_DOUBLE);
    ALSO_IN_PLACE(alltoallv, here, NULL, NULL, MPI_DATATYPE_NULL, out, counts, places, MPI_DOUBLE);
    ALSO_IN_PLACE(alltoallw, here, NULL, NULL, NULL, out, counts, bytes, types);
    ALSO_IN_PLACE(reduce, mine, out, 2, MPI_DOUBLE, MPI_SUM, 0);
    ALSO_IN_PLACE(allreduce, here, out, 2, MPI_DOUBLE, MPI_SUM);
    ALSO_IN_PLACE(reduce_scatter_block, here, out, 2, MPI_DOUBLE, MPI_SUM);
    ALSO_IN_PLACE(reduce_scatter, here, out, counts, MPI_DOUBLE, MPI_SUM);
    ALSO_IN_PLACE(scan, here, out, 2, MPI_DOUBLE, MPI_SUM);
    ALSO_IN_PLACE(exscan, here, out, 2, MPI_DOUBLE, MPI_SUM);
    MPI_Comm_free(&comm);
}

/* A message, a reduction and a barrier, completed together in each way; then the same with ignored statuses. */
static void statuses(int ignored)
{
    enum { WAIT, WAITALL, WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME, WAYS };
    MPI_Comm comm = named(ignored ? "statuses ignored" : "statuses");
    for (int way = 0; way < WAYS; way++) {
        int sent[3] = {me, way, ignored}, got[3] = {-1, -1, -1}, flag, index, some, indices[4], seen[3] = {0};
        MPI_Request q[4];
        MPI_Status one, several[4], of_message;
        memset(&of_message, 0, sizeof of_message);
        clear();
        MPI_Irecv(got, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &q[0]);
        MPI_Iallreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, comm, &q[1]);
        MPI_Isend(sent, 1 + way % 3, MPI_INT, right, 10 + way, comm, &q[2]);
        MPI_Ibarrier(comm, &q[3]);
        MPI_Status *first = ignored ? MPI_STATUS_IGNORE : &one, *all = ignored ? statuses_ignored() : several;
        int together = 0;
        switch (way) {
        case WAIT:
            for (int i = 0; i < 4; i++) MPI_Wait(&q[i], first), of_message = i == 0 ? one : of_message;
            break;
        case TEST:
            for (int i = 0; i < 4; i++) {
                do MPI_Test(&q[i], &flag, first); while (!flag);
                if (i == 0) of_message = one;
            }
            break;
        case WAITANY:
        case TESTANY:
            for (int done = 0; done < 4; done += flag) {
                if (way == WAITANY) flag = 1, MPI_Waitany(4, q, &index, first);
                else MPI_Testany(4, q, &index, &flag, first);
                if (flag && index == 0) of_message = one;
            }
            break;
        case WAITSOME:
        case TESTSOME:
            for (int done = 0; done < 4; done += some) {
                if (way == WAITSOME) MPI_Waitsome(4, q, &some, indices, all);
                else MPI_Testsome(4, q, &some, indices, all);
                for (int i = 0; i < some; i++) if (indices[i] == 0) of_message = several[i];
            }
            break;
        case WAITALL:
            MPI_Waitall(4, q, all), together = 1;
            break;
        default:
            do MPI_Testall(4, q, &flag, all); while (!flag);
            together = 1;
        }
        if (together) of_message = several[0];
        if (!ignored) {
            MPI_Get_count(&of_message, MPI_INT, &seen[0]);
            seen[1] = of_message.MPI_SOURCE, seen[2] = of_message.MPI_TAG;
            CHECK(seen[0] == 1 + way % 3 && seen[1] == left && seen[2] == 10 + way);
        }
        for (int i = 0; i < 4; i++) CHECK(q[i] == MPI_REQUEST_NULL);
        show("Iallreduce among messages");
        checksum("message", got, sizeof got);
        checksum("count, source and tag", seen, sizeof seen);
    }
    MPI_Comm_free(&comm);
}

/* The product of 2 by 2 matrices, whose order counts. */
static void multiply(void *left_ones, void *right_ones, int *count, MPI_Datatype *type)
{
    int size;
    MPI_Type_size(*type, &size);
    for (int i = 0; i < *count * size / 32; i++) {
        double *a = (double *)left_ones + 4 * i, *b = (double *)right_ones + 4 * i;
        double product[4];
        for (int j = 0; j < 4; j++) product[j] = a[j / 2 * 2] * b[j % 2] + a[j / 2 * 2 + 1] * b[2 + j % 2];
        memcpy(b, product, sizeof product);
    }
}

static void operators(void)
{
    MPI_Comm comm = named("operators");
    MPI_Request q;
    MPI_Datatype matrix;
    MPI_Op product;
    int counts[MOST];
    for (int r = 0; r < MOST; r++) counts[r] = 1 + r % 2;
    MPI_Type_contiguous(4, MPI_DOUBLE, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &product);
    clear(), MPI_Reduce(in, out, 3, matrix, product, 0, comm), show("Reduce by a user's operator");
    clear(), MPI_Allreduce(in, out, 3, matrix, product, comm), show("Allreduce by a user's operator");
    clear(), MPI_Reduce_scatter_block(in, out, 2, matrix, product, comm), show("Reduce_scatter_block by it");
    clear(), MPI_Reduce_scatter(in, out, counts, matrix, product, comm), show("Reduce_scatter by it");
    clear(), MPI_Scan(in, out, 3, matrix, product, comm), show("Scan by it");
    clear(), MPI_Exscan(in, out, 3, matrix, product, comm), show("Exscan by it");
    clear(), MPI_Iallreduce(in, out, 3, matrix, product, comm, &q), wait(&q), show("Iallreduce by it");
    clear(), MPI_Iscan(in, out, 3, matrix, product, comm, &q), wait(&q), show("Iscan by it");
    /* Freed while in use: MPI keeps what it needs. */
    clear(), MPI_Ireduce(in, out, 3, matrix, product, 1, comm, &q);
    MPI_Op_free(&product), MPI_Type_free(&matrix), wait(&q);
    show("Ireduce by one that is freed");
    MPI_Comm_free(&comm);
}

/* A library may end in the last call. */
static void derived(int scatters)
{
    MPI_Comm comm = named("derived");
    MPI_Request q;
    MPI_Datatype column, columns, corner, pair, copy;
    MPI_Type_vector(n, 1, MOST, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, sizeof(double), &columns);
    MPI_Type_create_subarray(2, (int[]){MOST, MOST}, (int[]){3, 2}, (int[]){5, 6}, MPI_ORDER_C, MPI_DOUBLE, &corner);
    MPI_Type_create_struct(2, (int[]){1, 3}, (MPI_Aint[]){40, 4}, (MPI_Datatype[]){MPI_DOUBLE, MPI_INT}, &pair);
    MPI_Datatype *types[] = {&column, &columns, &corner, &pair};
    for (int i = 0; i < 4; i++) MPI_Type_commit(types[i]);
    MPI_Type_dup(columns, &copy);
    clear(), MPI_Alltoall(in, 1, columns, out, n, MPI_DOUBLE, comm), show("Alltoall of columns");
    clear(), MPI_Bcast(me ? out : in, 1, corner, 0, comm), show("Bcast of a corner");
    clear(), MPI_Ibcast(me ? out : in, me ? 6 : 1, me ? MPI_DOUBLE : corner, 0, comm, &q), wait(&q);
    show("Ibcast of a corner");
    clear(), MPI_Gather(in, n, MPI_DOUBLE, out, 1, copy, 1, comm), show("Gather of columns");
    clear(), MPI_Iallgather(in, 2, pair, out, 2, pair, comm, &q), wait(&q), show("Iallgather of pairs");
    if (scatters) clear(), MPI_Scatter(in, 1, columns, out, 1, column, 0, comm), show("Scatter of columns");
    MPI_Type_free(&copy);
    for (int i = 0; i < 4; i++) MPI_Type_free(types[i]);
    MPI_Comm_free(&comm);
}

/* Rank r's share is r doubles, so rank 0 has none; the shares lie apart, the last one first. */
static void shares(void)
{
    MPI_Comm comm = named("shares");
    MPI_Request q;
    int own[MOST], places[MOST], swap[MOST], apart[MOST];
    for (int r = 0; r < n; r++) {
        own[r] = r, places[r] = (n - 1 - r) * MOST;
        swap[r] = (me + r) % 3, apart[r] = r * MOST + 1;
    }
    clear(), MPI_Gatherv(in, me, MPI_DOUBLE, out, own, places, MPI_DOUBLE, 1, comm), show("Gatherv");
    clear(), MPI_Scatterv(in, own, places, MPI_DOUBLE, out, me, MPI_DOUBLE, 1, comm), show("Scatterv");
    clear(), MPI_Allgatherv(in, me, MPI_DOUBLE, out, own, places, MPI_DOUBLE, comm), show("Allgatherv");
    clear(), MPI_Alltoallv(in, swap, apart, MPI_DOUBLE, out, swap, places, MPI_DOUBLE, comm), show("Alltoallv");
    clear(), MPI_Reduce_scatter(in, out, own, MPI_DOUBLE, MPI_SUM, comm), show("Reduce_scatter");
    clear(), MPI_Igatherv(in, me, MPI_DOUBLE, out, own, places, MPI_DOUBLE, 1, comm, &q), wait(&q), show("Igatherv");
    clear(), MPI_Iscatterv(in, own, places, MPI_DOUBLE, out, me, MPI_DOUBLE, 1, comm, &q), wait(&q), show("Iscatterv");
    clear(), MPI_Iallgatherv(in, me, MPI_DOUBLE, out, own, places, MPI_DOUBLE, comm, &q), wait(&q), show("Iallgatherv");
    clear(), MPI_Ialltoallv(in, swap, apart, MPI_DOUBLE, out, swap, places, MPI_DOUBLE, comm, &q), wait(&q);
    show("Ialltoallv");
    clear(), MPI_Ireduce_scatter(in, out, own, MPI_DOUBLE, MPI_SUM, comm, &q), wait(&q), show("Ireduce_scatter");
    MPI_Comm_free(&comm);
}

static int handled, last_class;

static void handler(MPI_Comm *comm, int *error, ...)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm_get_name(*comm, name, &length);
    MPI_Error_class(*error, &last_class);
    handled += strcmp(name, "handled") ? 100 : 1;
}

/* Every rank makes the same mistakes, so that no rank waits. */
static void mistakes(void)
{
    MPI_Comm comm = named("handled"), returning = named("returning");
    MPI_Errhandler ours, got;
    MPI_Request q = MPI_REQUEST_NULL;
    int classes[4];
    MPI_Comm_create_errhandler(handler, &ours);
    MPI_Comm_set_errhandler(comm, ours);
    MPI_Comm_get_errhandler(comm, &got);
    CHECK(got == ours);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&ours);
    MPI_Comm_set_errhandler(returning, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        MPI_Comm where = i ? returning : comm;
        classes[0] = MPI_Bcast(in, -1, MPI_DOUBLE, 0, where);
        classes[1] = MPI_Scatter(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, n, where);
        classes[2] = MPI_Iallgather(in, 1, MPI_DOUBLE, out, -1, MPI_DOUBLE, where, &q);
        classes[3] = MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_OP_NULL, where);
        for (int j = 0; j < 4; j++) MPI_Error_class(classes[j], &classes[j]);
        report("classes %d %d %d %d", classes[0], classes[1], classes[2], classes[3]);
        report("handled %d, last of class %d", handled, last_class);
        clear(), MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, where), show("Allreduce after mistakes");
    }
    MPI_Comm_free(&returning);
    MPI_Comm_free(&comm);
}

/* Even ranks on one side, odd ones on the other. The root is the first even one: it says MPI_ROOT, the others of its
 * side MPI_PROC_NULL, the other side 0. */
static void two_sides(void)
{
    MPI_Comm side, comm;
    MPI_Request q;
    MPI_Datatype types[MOST];
    int own[MOST], places[MOST], bytes[MOST], even = me % 2 == 0;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, even, 5, &comm);
    MPI_Comm_set_name(comm, "two sides");
    int root = me == 0 ? MPI_ROOT : even ? MPI_PROC_NULL : 0, mine = me / 2 + 1;
    for (int r = 0; r < MOST; r++) own[r] = r + 1, places[r] = r * (r + 1) / 2, bytes[r] = 8 * r, types[r] = MPI_DOUBLE;

    MPI_Barrier(comm);
    clear(), MPI_Bcast(me ? out : in, COUNT, MPI_DOUBLE, root, comm), show("Bcast to the other side");
    clear(), MPI_Gather(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, root, comm), show("Gather");
    clear(), MPI_Gatherv(in, mine, MPI_DOUBLE, out, own, places, MPI_DOUBLE, root, comm), show("Gatherv");
    clear(), MPI_Scatter(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, root, comm), show("Scatter");
    clear(), MPI_Scatterv(in, own, places, MPI_DOUBLE, out, mine, MPI_DOUBLE, root, comm), show("Scatterv");
    clear(), MPI_Reduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, root, comm), show("Reduce");
    clear(), MPI_Allgather(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, comm), show("Allgather");
    clear(), MPI_Allgatherv(in, mine, MPI_DOUBLE, out, own, places, MPI_DOUBLE, comm), show("Allgatherv");
    clear(), MPI_Alltoall(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, comm), show("Alltoall");
    clear(), MPI_Alltoallv(in, ones, places, MPI_DOUBLE, out, ones, places, MPI_DOUBLE, comm), show("Alltoallv");
    clear(), MPI_Alltoallw(in, ones, bytes, types, out, ones, bytes, types, comm), show("Alltoallw");
    clear(), MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, comm), show("Allreduce");
    clear(), MPI_Reduce_scatter_block(in, out, 2, MPI_DOUBLE, MPI_SUM, comm), show("Reduce_scatter_block");
    clear(), MPI_Reduce_scatter(in, out, own, MPI_DOUBLE, MPI_SUM, comm), show("Reduce_scatter");
    MPI_Ibarrier(comm, &q), wait(&q);
    clear(), MPI_Ibcast(me ? out : in, COUNT, MPI_DOUBLE, root, comm, &q), wait(&q), show("Ibcast");
    clear(), MPI_Igather(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, root, comm, &q), wait(&q), show("Igather");
    clear(), MPI_Iscatterv(in, own, places, MPI_DOUBLE, out, mine, MPI_DOUBLE, root, comm, &q), wait(&q);
    show("Iscatterv");
    clear(), MPI_Ireduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, root, comm, &q), wait(&q), show("Ireduce");
    clear(), MPI_Iallreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, comm, &q), wait(&q), show("Iallreduce");
    clear(), MPI_Ialltoall(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, comm, &q), wait(&q), show("Ialltoall");
    MPI_Comm_free(&comm);
    MPI_Comm_free(&side);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    n = world_size, me = world_rank, left = (me + n - 1) % n, right = (me + 1) % n;
    CHECK(n % 2 == 0 && n <= 8);
    for (int r = 0; r < MOST; r++) ones[r] = 1;
    bottom();
    in_place();
    statuses(0);
    statuses(1);
    operators();
    derived(argc < 2);
    shares();
    mistakes();
    two_sides();
    MPI_Finalize();
    return 0;
}
