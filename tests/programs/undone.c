/* undone HOW: a program of two ranks that ends by itself.
 *   call      rank 0 leaves out a Reduce to it, for which rank 1 need not wait
 *   request   no rank completes its Ibarrier
 *   types     rank 1 reduces floats where rank 0 reduces integers
 *   derived   rank 1 broadcasts a double and an integer where rank 0 broadcasts an integer and a double
 *   Alltoallv, Alltoallw, Allgatherv, Gatherv, Scatterv   a rank receives two integers of which one is sent; N times
 *   kinds NAME   rank 1 receives as a float an integer of rank 0 in one of the first two of these or in Ialltoallv
 *   middle    rank 1 leaves out one of many broadcasts
 *   kept      a communicator is never freed
 *   committed   each rank frees two of five types, one in MPI_Finalize; the sixth one cannot be freed
 *   callbacks   a communicator, a window, a file and a type are freed in delete callbacks, and another communicator is not
 *   send      rank 1 receives two of three messages of rank 0
 *   receive   rank 1 begins three receives of two messages of rank 0
 *   any       rank 1 begins three receives of any rank of two messages of rank 0
 *   Recv, Irecv, Recv_init, Sendrecv   rank 1 receives as a float one of four integers of rank 0
 *   requests   rank 1 completes two of its seven requests of messages
 *   cancel, truncate   each rank cancels a receive; receives fail
 *   legal     all calls are made: recording is paused on one rank, not all ranks free a communicator, some ranks make a communicator of their own, requests are completed in all ways, messages are received in all ways */
#include "report.h"

static int in = 1, out;
static float real_in = 1, real_out;

static void complete_in_all_ways(void)
{
    MPI_Request requests[4];
    int index, flag = 0, count, indices[4];
    for (int k = 0; k < 4; k++) MPI_Ibarrier(MPI_COMM_WORLD, &requests[k]);
    while (!flag) MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Waitany(1, &requests[1], &index, MPI_STATUS_IGNORE);
    MPI_Waitsome(1, &requests[2], &count, indices, MPI_STATUSES_IGNORE);
    for (flag = 0; !flag;) MPI_Testall(1, &requests[3], &flag, MPI_STATUSES_IGNORE);
}

/* A structure of an integer and a double, or the other way round, without a gap. */
static MPI_Datatype structure(int reversed)
{
    MPI_Datatype made, types[2] = {reversed ? MPI_DOUBLE : MPI_INT, reversed ? MPI_INT : MPI_DOUBLE};
    MPI_Aint places[2] = {0, reversed ? sizeof(double) : sizeof(int)};
    MPI_Type_create_struct(2, (int[]){1, 1}, places, types, &made);
    MPI_Type_commit(&made);
    return made;
}

static void derived(void)
{
    char buffer[64] = "";
    MPI_Datatype type = structure(world_rank == 1);
    MPI_Bcast(buffer, 1, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
}

/* Types of one signature, also behind a handle that was freed. */
static void one_signature(MPI_Comm comm)
{
    char buffer[64] = "";
    MPI_Datatype pair, pairs, vector;
    for (int k = 0; k < 3; k++) {
        pair = structure(k == 1);
        MPI_Type_contiguous(2, pair, &pairs);
        MPI_Type_commit(&pairs);
        MPI_Bcast(buffer, world_rank ? 1 : 2, world_rank ? pairs : pair, 0, comm);
        MPI_Type_free(&pair);
        MPI_Type_free(&pairs);
    }
    MPI_Type_vector(3, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Bcast(buffer, world_rank ? 3 : 1, world_rank ? MPI_INT : vector, 0, comm);
    MPI_Type_free(&vector);
}

enum { VARIANTS = 5 };
static const char *const variants[VARIANTS] = {"Alltoallv", "Alltoallw", "Allgatherv", "Gatherv", "Scatterv"};

/* Rank 1 receives this from rank 0. */
static MPI_Datatype kind = MPI_DATATYPE_NULL;

/* Amounts of two ranks, that are not those of each other; they fit where `more` is 0. */
static void amounts(const char *name, int more, MPI_Comm comm)
{
    int to[16] = {0}, from[16] = {0}, me = world_rank;
    int sent[2] = {1 + me, 1 + 2 * me}, received[2] = {1, 2 + me}, places[2] = {0, 4}, bytes[2] = {0, 16};
    int blocks[2] = {1, 2}, block = 1 + me, over = me == 1 ? more : 0;
    MPI_Datatype first = me == 1 && kind != MPI_DATATYPE_NULL ? kind : MPI_INT;
    MPI_Datatype types[2] = {MPI_INT, MPI_INT}, other[2] = {first, MPI_INT32_T};
    MPI_Request request;
    received[0] += over;
    blocks[0] += over;
    if (!strcmp(name, "Alltoallv"))
        MPI_Alltoallv(to, sent, places, MPI_INT, from, received, places, first, comm);
    else if (!strcmp(name, "Ialltoallv")) {
        MPI_Ialltoallv(to, sent, places, MPI_INT, from, received, places, first, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    else if (!strcmp(name, "Alltoallw"))
        MPI_Alltoallw(to, sent, bytes, types, from, received, bytes, other, comm);
    else if (!strcmp(name, "Allgatherv"))
        MPI_Allgatherv(to, block, MPI_INT, from, blocks, places, MPI_INT, comm);
    else if (!strcmp(name, "Gatherv"))
        MPI_Gatherv(to, block, MPI_INT, from, blocks, places, me == 1 ? MPI_INT : MPI_DATATYPE_NULL, 1, comm);
    else
        MPI_Scatterv(to, (int[]){1, 2}, places, MPI_INT, from, block + over, MPI_INT, 0, comm);
}

/* A vector of integers is received as integers, and the other way round floats; who receives nothing passes any type.
 * Bytes and what is packed are not compared. */
static void kinds_that_fit(MPI_Comm comm)
{
    int to[16] = {0}, from[16] = {0}, me = world_rank, places[2] = {0, 4}, none[2] = {0, 0}, one[2] = {1, 1};
    int sent[2] = {!me, me}, two[2] = {2 * !me, 2 * me};
    MPI_Comm dup;
    MPI_Datatype vector;
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Alltoallv(to, sent, places, me ? MPI_FLOAT : vector, from, me ? sent : two, places, me ? MPI_FLOAT : MPI_INT, comm);
    MPI_Alltoallv(to, none, places, MPI_DOUBLE, from, none, places, me ? MPI_CHAR : MPI_INT, comm);
    MPI_Comm_dup(comm, &dup);
    MPI_Alltoallv(to, one, places, MPI_INT, from, me ? (int[]){4, 4} : one, places, me ? MPI_BYTE : MPI_INT, dup);
    MPI_Comm_free(&dup);
    MPI_Type_free(&vector);
}

static void amounts_that_fit(MPI_Comm comm)
{
    int from[16] = {0}, counts[2] = {1, 2}, same[2] = {3, 3}, places[2] = {0, 4};
    MPI_Request request;
    for (int k = 0; k < 20; k++) amounts(variants[k % VARIANTS], 0, comm);
    MPI_Reduce_scatter(from, from + 8, counts, MPI_INT, MPI_SUM, comm);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, from, same, places, MPI_INT, comm);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, from, counts, places, MPI_INT, comm);
    if (world_rank == 0)
        MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, from, counts, places, MPI_INT, 0, comm);
    else
        MPI_Gatherv(from, 2, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, 0, comm);
    if (world_rank == 0)
        MPI_Scatterv(from, counts, places, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, comm);
    else
        MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, from, 2, MPI_INT, 0, comm);
    kinds_that_fit(comm);
    MPI_Iallgatherv(from + 8, 1 + world_rank, MPI_INT, from, counts, places, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void left(int sends, int receives, int source)
{
    MPI_Request requests[3];
    if (world_rank == 0) {
        MPI_Send(&in, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        for (int k = 1; k < sends; k++) {
            MPI_Isend(&in, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, requests);
            MPI_Wait(requests, MPI_STATUS_IGNORE);
        }
    } else if (world_rank == 1) {
        for (int k = 0; k < receives; k++)
            MPI_Irecv(&out, 1, MPI_INT, source, 7, MPI_COMM_WORLD, requests + k);
        MPI_Waitall(receives < sends ? receives : sends, requests, MPI_STATUSES_IGNORE);
    }
}

/* Of rank 0 to rank 1. */
static void receive_in_all_ways(void)
{
    enum { SENT = 12 };
    MPI_Request requests[2];
    MPI_Message message;
    MPI_Status status;
    MPI_Comm dup;
    int index, flag = 0, buffer[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    if (world_rank == 0) {
        MPI_Send_init(&in, 1, MPI_INT, 1, 5, dup, requests);
        for (int k = 0; k < 3; k++) {
            MPI_Start(requests);
            MPI_Wait(requests, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(requests);
        for (int k = 3; k < SENT; k++) MPI_Send(&in, 1, MPI_INT, 1, k, dup);
        MPI_Send(buffer, 2, MPI_INT, 1, 99, dup);
    } else {
        MPI_Recv_init(&out, 1, MPI_INT, 0, 5, dup, requests);
        for (int k = 0; k < 3; k++) {
            MPI_Startall(1, requests);
            MPI_Waitall(1, requests, MPI_STATUSES_IGNORE);
        }
        MPI_Request_free(requests);
        MPI_Recv(&out, 1, MPI_INT, MPI_ANY_SOURCE, 3, dup, &status);
        MPI_Irecv(&out, 1, MPI_INT, MPI_ANY_SOURCE, 4, dup, requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        MPI_Probe(0, 5, dup, &status);
        MPI_Recv(&out, 1, MPI_INT, 0, 5, dup, MPI_STATUS_IGNORE);
        MPI_Mprobe(0, 6, dup, &message, &status);
        MPI_Mrecv(&out, 1, MPI_INT, &message, &status);
        while (!flag) MPI_Improbe(MPI_ANY_SOURCE, 7, dup, &flag, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(&out, 1, MPI_INT, &message, requests);
        MPI_Wait(requests, &status);
        MPI_Sendrecv(&in, 1, MPI_INT, MPI_PROC_NULL, 1, &out, 1, MPI_INT, 0, 8, dup, &status);
        MPI_Sendrecv_replace(&out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_ANY_SOURCE, 9, dup, &status);
        MPI_Irecv(buffer, 1, MPI_INT, 0, 10, dup, requests);
        MPI_Irecv(buffer + 1, 1, MPI_INT, MPI_PROC_NULL, 10, dup, requests + 1);
        for (int k = 0; k < 2; k++) MPI_Waitany(2, requests, &index, &status);
        MPI_Recv(&out, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, dup, MPI_STATUS_IGNORE);
        MPI_Recv(buffer, 2, MPI_INT, 0, 99, dup, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&dup);
}

static void requests(void)
{
    MPI_Request made[7];
    int flag = 0, index;
    if (world_rank == 0)
        for (int k = 0; k < 7; k++) MPI_Send(&in, 1, MPI_INT, 1, k, MPI_COMM_WORLD);
    if (world_rank == 1) {
        for (int k = 0; k < 6; k++) MPI_Irecv(&out, 1, MPI_INT, 0, k, MPI_COMM_WORLD, made + k);
        MPI_Recv_init(&out, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, made + 6);
        MPI_Start(made + 6);
        MPI_Wait(made + 6, MPI_STATUS_IGNORE);
        while (!flag) MPI_Test(made, &flag, MPI_STATUS_IGNORE);
        MPI_Waitany(2, made, &index, MPI_STATUS_IGNORE);
        MPI_Wait(made, MPI_STATUS_IGNORE);
    }
    /* All have come: what is left is no message. */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 receives the last one of four messages as another type. */
static void other_type(const char *how)
{
    int me = world_rank;
    MPI_Request request;
    for (int k = 0; k < 4; k++) {
        MPI_Datatype type = k == 3 && me == 1 ? MPI_FLOAT : MPI_INT;
        if (!strcmp(how, "Recv")) {
            if (me == 0) MPI_Send(&in, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
            if (me == 1) MPI_Recv(&out, 1, type, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (!strcmp(how, "Sendrecv")) {
            MPI_Sendrecv(&in, 1, MPI_INT, !me, 7, &out, 1, type, !me, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (!strcmp(how, "Irecv")) {
            if (me == 0) MPI_Isend(&in, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
            if (me == 1) MPI_Irecv(&out, 1, type, k == 3 ? MPI_ANY_SOURCE : 0, 7, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            if (me == 0) MPI_Send_init(&in, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
            if (me == 1) MPI_Recv_init(&out, 1, type, 0, 7, MPI_COMM_WORLD, &request);
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Request_free(&request);
        }
    }
}

/* Types that go together, each pair on a communicator of its own: a derived one of integers, packed data, an empty
 * message, the beginning of a structure, bytes, repeated structures. A request of another type is never started. */
static void types_that_fit(MPI_Comm comm)
{
    int numbers[32] = {0}, place = 0;
    char packed[64] = "";
    MPI_Comm dup;
    MPI_Request request;
    MPI_Datatype vector, pairs, pair = structure(0);
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Type_contiguous(2, pair, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Pack(&in, 1, MPI_INT, packed, sizeof packed, &place, comm);
    MPI_Datatype sent[] = {vector, MPI_PACKED, MPI_DOUBLE, MPI_INT, MPI_BYTE, pair, MPI_INT32_T};
    MPI_Datatype received[] = {MPI_INT, MPI_INT, MPI_FLOAT, pair, MPI_BYTE, pairs, MPI_INT};
    int counts[] = {1, place, 0, 1, 4, 2, 1};
    for (int k = 0; k < (int)(sizeof counts / sizeof *counts); k++) {
        MPI_Comm_dup(comm, &dup);
        MPI_Recv_init(numbers, 1, MPI_C_DOUBLE_COMPLEX, !world_rank, 2, dup, &request);
        MPI_Request_free(&request);
        for (int turn = 0; turn < 3; turn++)
            if (world_rank == 0)
                MPI_Send(k == 1 ? (void *)packed : numbers, counts[k], sent[k], 1, 1, dup);
            else
                MPI_Recv(numbers, k == 1 ? 1 : 4, received[k], turn == 1 ? MPI_ANY_SOURCE : 0, 1, dup, MPI_STATUS_IGNORE);
        MPI_Comm_free(&dup);
    }
    MPI_Type_free(&vector);
    MPI_Type_free(&pair);
    MPI_Type_free(&pairs);
}

/* The counts are not those of what was done: a receive is cancelled. */
static void cancel(void)
{
    MPI_Request request;
    MPI_Irecv(&out, 1, MPI_INT, !world_rank, 4, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A message that is longer than its receive is gone, and the call has failed. */
static void cut(void)
{
    int two[2] = {1, 2};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (world_rank == 0) MPI_Send(two, 2, MPI_INT, 1, 6, MPI_COMM_WORLD);
    if (world_rank == 1) CHECK(MPI_Recv(two, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    if (world_rank == 1) CHECK(MPI_Recv(two, 1, MPI_INT, world_size, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS);
}

static void legal(void)
{
    MPI_Comm dup, own = MPI_COMM_NULL;
    MPI_Group all, first;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    if (world_rank == 0) MPI_Pcontrol(0);
    for (int k = 0; k < 5; k++) MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, dup);
    if (world_rank == 0) MPI_Pcontrol(1);
    /* Names of one type. */
    MPI_Allreduce(&in, &out, 1, world_rank ? MPI_INT32_T : MPI_INT, MPI_SUM, dup);
    MPI_Bcast(&in, world_rank ? 4 : 1, world_rank ? MPI_BYTE : MPI_INT, 0, dup);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, (int[]){0}, &first);
    if (world_rank == 0) MPI_Comm_create_group(MPI_COMM_WORLD, first, 3, &own);
    if (world_rank == 0) MPI_Barrier(own);
    complete_in_all_ways();
    receive_in_all_ways();
    types_that_fit(dup);
    amounts_that_fit(dup);
    one_signature(dup);
    if (world_rank == 0) MPI_Comm_free(&dup);
}

/* Three places that broadcast in turn, each of which the compiler leaves one place. Rank 1 leaves out the second one
 * once. */
#define PLACE __attribute__((noinline, noclone)) static void

PLACE first(void)
{
    MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    in++;
}

PLACE second(void)
{
    MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    in += 2;
}

PLACE third(void)
{
    MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    in += 3;
}

static void middle(void)
{
    for (int k = 0; k < 10; k++) {
        first();
        if (world_rank == 0 || k != 5) second();
        third();
    }
}

static void kept(void)
{
    MPI_Comm dup, freed;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    MPI_Comm_free(&freed);
    MPI_Barrier(dup);
}

static int free_with(MPI_Comm comm, int key, void *type, void *none)
{
    (void)comm, (void)key, (void)none;
    return MPI_Type_free(type);
}

static void committed(void)
{
    static MPI_Datatype last;
    int key;
    MPI_Datatype vector, copy, other, real, freed;
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    for (int k = 0; k < 2; k++) MPI_Type_commit(&vector);
    MPI_Type_dup(vector, &copy);
    MPI_Type_dup(MPI_INT, &other);
    MPI_Type_contiguous(2, vector, &freed);
    MPI_Type_commit(&freed);
    MPI_Type_free(&freed);
    MPI_Type_contiguous(3, MPI_INT, &last);
    MPI_Type_commit(&last);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_with, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &last);
    /* A library without Fortran has none. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Type_create_f90_real(6, 30, &real) == MPI_SUCCESS) MPI_Type_commit(&real);
}

static int free_in_callback(MPI_Comm comm, int key, void *object, void *kind)
{
    (void)comm, (void)key;
    switch (*(char *)kind) {
    case 'c': return MPI_Comm_free(object);
    case 'w': return MPI_Win_free(object);
    case 'f': return MPI_File_close(object);
    default: return MPI_Type_free(object);
    }
}

/* What is freed while a communicator is: each object is an attribute of it. */
static void callbacks(void)
{
    static int memory[2];
    MPI_Comm holder, dup, kept;
    MPI_Win window;
    MPI_File file;
    MPI_Datatype type;
    void *objects[] = {&dup, &window, &file, &type};
    MPI_Comm_dup(MPI_COMM_WORLD, &holder);
    MPI_Comm_dup(holder, &dup);
    MPI_Comm_dup(holder, &kept);
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, holder, &window);
    MPI_File_open(holder, "undone.callbacks", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int k = 0; k < 4; k++) {
        int key;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_in_callback, &key, (void *)&"cwft"[k]);
        MPI_Comm_set_attr(holder, key, objects[k]);
        MPI_Comm_free_keyval(&key);
    }
    for (int k = 0; k < 3; k++) MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, dup);
    MPI_Win_fence(0, window);
    MPI_Comm_free(&holder);
    /* Handles that may be those of the freed ones. */
    MPI_Comm_dup(kept, &dup);
    MPI_Barrier(dup);
    MPI_Comm_free(&dup);
    CHECK(type == MPI_DATATYPE_NULL && window == MPI_WIN_NULL && file == MPI_FILE_NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "legal";
    MPI_Request request;
    MPI_Init(&argc, &argv);
    world();
    for (int k = 0; k < 3; k++) MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "call") && world_rank == 1)
        MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "request")) MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (!strcmp(how, "types") && world_rank == 0)
        MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "types") && world_rank == 1)
        MPI_Reduce(&real_in, &real_out, 1, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "middle")) middle();
    if (!strcmp(how, "derived")) derived();
    for (int variant = 0; variant < VARIANTS; variant++)
        if (!strcmp(how, variants[variant]))
            for (int k = argc > 2 ? atoi(argv[2]) : 1; k > 0; k--) amounts(how, 1, MPI_COMM_WORLD);
    if (!strcmp(how, "kinds")) {
        kind = MPI_FLOAT;
        amounts(argv[2], 0, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "kept")) kept();
    if (!strcmp(how, "committed")) committed();
    if (!strcmp(how, "callbacks")) callbacks();
    if (!strcmp(how, "send")) left(3, 2, 0);
    if (!strcmp(how, "receive")) left(2, 3, 0);
    if (!strcmp(how, "any")) left(2, 3, MPI_ANY_SOURCE);
    if (!strcmp(how, "requests")) requests();
    if (strstr(how, "ecv")) other_type(how);
    if (!strcmp(how, "cancel")) cancel();
    if (!strcmp(how, "truncate")) cut();
    if (!strcmp(how, "legal")) legal();
    MPI_Finalize();
    return 0;
}
