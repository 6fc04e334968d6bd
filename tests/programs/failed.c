/* Calls that fail, of functions that are recorded and of others, under MPI_ERRORS_RETURN and some under an error handler of
 * the program that returns. Every rank makes the same ones. It prints how many calls of both kinds have returned an error:
 * libraries differ in which they find. */
#include "report.h"

static int recorded, others;

static void handler(MPI_Comm *of, int *error, ...)
{
    (void)of, (void)error;
    recorded++;
}

/* Seen through a function, since a compiler would warn of it. */
__attribute__((noinline)) static MPI_Status *statuses_ignored(void) { return MPI_STATUSES_IGNORE; }

#define RECORDED(call) recorded += (call) != MPI_SUCCESS
#define OTHER(call) others += (call) != MPI_SUCCESS

int main(int argc, char **argv)
{
    int x = 0, y = 0, flag, kind, far, result;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm no_comm = MPI_COMM_NULL, new;
    MPI_Group group, none;
    MPI_Datatype no_type = MPI_DATATYPE_NULL, type;
    MPI_Errhandler own;
    MPI_File file;
    MPI_Init(&argc, &argv);
    world();
    far = world_size + 97;
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(w, own);
    for (int i = 0; i < 5; i++) MPI_Bcast(&x, 1, MPI_INT, far, w);
    MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    RECORDED(MPI_Bcast(&x, 1, MPI_INT, far, w));
    RECORDED(MPI_Ibcast(&x, 1, MPI_INT, far, w, &request));
    RECORDED(MPI_Comm_dup(no_comm, &new));
    RECORDED(MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));

    for (int i = 0; i < 5; i++) OTHER(MPI_Send(&x, 1, MPI_INT, far, 0, w));
    OTHER(MPI_Ssend(&x, -1, MPI_INT, 0, 0, w));
    OTHER(MPI_Isend(&x, 1, MPI_INT, far, 0, w, &request));
    OTHER(MPI_Recv(&x, 1, MPI_INT, far, 0, w, MPI_STATUS_IGNORE));
    OTHER(MPI_Irecv(&x, -1, MPI_INT, 0, 0, w, &request));
    OTHER(MPI_Sendrecv(&x, 1, MPI_INT, far, 0, &y, 1, MPI_INT, 0, 0, w, MPI_STATUS_IGNORE));
    OTHER(MPI_Send_init(&x, 1, MPI_INT, far, 0, w, &request));
    OTHER(MPI_Probe(far, 0, w, MPI_STATUS_IGNORE));
    OTHER(MPI_Iprobe(far, 0, w, &flag, MPI_STATUS_IGNORE));
    request = MPI_REQUEST_NULL;
    OTHER(MPI_Waitall(-1, &request, statuses_ignored()));
    OTHER(MPI_Testall(-1, &request, &flag, statuses_ignored()));
    OTHER(MPI_Start(&request));
    OTHER(MPI_Startall(-1, &request));
    OTHER(MPI_Comm_rank(no_comm, &x));
    OTHER(MPI_Comm_size(no_comm, &x));
    OTHER(MPI_Comm_set_name(no_comm, "none"));
    OTHER(MPI_Type_size(no_type, &x));
    OTHER(MPI_Type_commit(&no_type));
    OTHER(MPI_Type_contiguous(-1, MPI_INT, &type));
    OTHER(MPI_Topo_test(no_comm, &kind));
    OTHER(MPI_File_delete("/nowhere/at/all", MPI_INFO_NULL));
    MPI_Comm_group(w, &group);
    OTHER(MPI_Group_incl(group, 1, &far, &none));
    MPI_Group_free(&group);
    /* One that is too long for its receive: the call fails that completes the request. */
    int long_one[4] = {0};
    MPI_Irecv(&x, 1, MPI_INT, (world_rank + 1) % world_size, 5, w, &request);
    MPI_Send(long_one, 4, MPI_INT, (world_rank + 1) % world_size, 5, w);
    OTHER(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* Polled until it has come. */
    MPI_Irecv(&x, 1, MPI_INT, (world_rank + 1) % world_size, 6, w, &request);
    MPI_Send(long_one, 4, MPI_INT, (world_rank + 1) % world_size, 6, w);
    for (flag = 0; !flag;) {
        result = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        others += result != MPI_SUCCESS;
        if (result != MPI_SUCCESS) break;
    }
    for (int i = 0; i < 20; i++) MPI_Bcast(&x, 1, MPI_INT, 0, w);
    report("%d failed that are recorded, %d others", recorded, others);
    MPI_Errhandler_free(&own);
    MPI_Finalize();
    return 0;
}
