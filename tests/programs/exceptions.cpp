/* Calls that a C++ program leaves by an exception: an error handler throws, and so does a callback of an attribute.
 * After each a good call. */
#include "report.h"

struct Refused {
    int error_class;
};

static int deleted;

static void throwing(MPI_Comm *, int *code, ...)
{
    int error_class = 0;
    MPI_Error_class(*code, &error_class);
    throw Refused{error_class};
}

static int throws_when_deleted(MPI_Comm, int, void *, void *)
{
    if (deleted++ == 0) throw Refused{77};
    return MPI_SUCCESS;
}

static int good;

template <typename Call> static int attempt(Call call)
{
    int error_class = 0;
    try {
        call();
    } catch (const Refused &refused) {
        error_class = refused.error_class;
    }
    double in = 1, out = 0;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    good += out == world_size;
    return error_class;
}

int main(int argc, char **argv)
{
    int value = 7, got[8], n = 0;
    double room[16];
    MPI_Errhandler handler;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_create_errhandler(throwing, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    got[n++] = attempt([&] { MPI_Bcast(&value, 1, MPI_INT, 99, MPI_COMM_WORLD); });
    got[n++] = attempt([&] { MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD); });
    got[n++] = attempt([&] { MPI_Allreduce(&value, room, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD); });
    got[n++] = attempt([&] { MPI_Gather(&value, -1, MPI_INT, room, -1, MPI_INT, 0, MPI_COMM_WORLD); });
    got[n++] = attempt([&] { MPI_Ibcast(&value, 1, MPI_INT, 99, MPI_COMM_WORLD, &request); });
    got[n++] = attempt([&] { MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD); });
    /* A truncated message, which is seen in MPI_Wait. */
    got[n++] = attempt([&] {
        int longer[4] = {0}, shorter;
        MPI_Request requests[2];
        MPI_Irecv(&shorter, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[0]);
        MPI_Isend(longer, 4, MPI_INT, 0, 5, MPI_COMM_SELF, &requests[1]);
        MPI_Request barrier;
        MPI_Ibarrier(MPI_COMM_SELF, &barrier);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&barrier, MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    });
    int key;
    MPI_Comm part;
    MPI_Comm_dup(MPI_COMM_SELF, &part);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, throws_when_deleted, &key, nullptr);
    MPI_Comm_set_attr(part, key, &value);
    got[n++] = attempt([&] { MPI_Comm_free(&part); });
    report("%d %d %d %d %d %d %d %d, good %d", got[0], got[1], got[2], got[3], got[4], got[5], got[6], got[7], good);
    MPI_Finalize();
    return 0;
}
