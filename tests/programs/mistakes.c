/* Every kind of wrong argument under MPI_ERRORS_RETURN, or with the argument `handled` under an error handler of the
 * program that returns: what each call returns is reported by class and text, and a good call follows each. Every rank
 * makes the same mistakes, so that no rank waits. The other arguments are the names of those to leave out, where a
 * library does not report them but crashes or waits forever. */
#include "checksum.h"

static int arguments;
static char **names;
static MPI_Comm comm, good;
/* How many good calls there were, and how many wrong ones: refused by the library or, being none to it, done. */
static int good_calls, refused, done;
static double a[64], b[64];
static int n, ones[16], negative[16], places[16], flag, index_of, some;
static MPI_Request q = MPI_REQUEST_NULL, no_request = MPI_REQUEST_NULL;
static MPI_Datatype no_types[16], no_type = MPI_DATATYPE_NULL;
static MPI_Comm no_comm = MPI_COMM_NULL, new;

/* What the error handler was called with since the last call, and whether that call returned MPI_SUCCESS all the same. */
static int handled, hidden;

static void handler(MPI_Comm *of, int *error, ...)
{
    (void)of;
    handled = *error;
}

static int outcome(int returned)
{
    int error = returned ? returned : handled;
    hidden = error != returned;
    handled = 0;
    return error;
}

/* Seen through a function, since a compiler would warn of it. */
__attribute__((noinline)) static void *nowhere(void) { return NULL; }

static int left_out(const char *name)
{
    for (int i = 1; i < arguments; i++) if (!strcmp(names[i], name)) return 1;
    return 0;
}

/* Addresses and handles, which some libraries put into the text, are not the same in any two runs: without digits. */
static void tell(const char *name, int error)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class, to = 0, one = 1, sum = 0;
    MPI_Error_class(error, &class);
    MPI_Error_string(error, text, &length);
    for (int i = 0; i < length; i++) {
        if (!strncmp(text + i, "0x", 2)) i += 1 + strspn(text + i + 2, "0123456789abcdef"), text[to++] = '#';
        else text[to++] = text[i] == '\n' ? '|' : text[i];
    }
    text[to] = 0;
    report("%s: class %d, %s%s", name, class, text, hidden ? " (hidden)" : "");
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, good);
    CHECK(sum == n);
    good_calls++;
}

/* A wrong call that is a collective of its own, one that makes or frees a communicator, and one that is none of both. */
#define COLLECTIVE(name, call)                \
    do {                                      \
        if (left_out(name)) break;            \
        int error = outcome(call);            \
        *(error ? &refused : &done) += 1;     \
        tell(name, error);                    \
    } while (0)
#define MANAGEMENT(name, call)                \
    do {                                      \
        if (left_out(name)) break;            \
        new = MPI_COMM_NULL;                  \
        int error = outcome(call);            \
        refused += error != 0;                \
        tell(name, error);                    \
    } while (0)
#define OTHER(name, call)                     \
    do {                                      \
        if (left_out(name)) break;            \
        new = MPI_COMM_NULL;                  \
        tell(name, outcome(call));            \
    } while (0)

static int uncommitted(void)
{
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_INT, &type);
    int error = MPI_Bcast(a, 1, type, 0, comm);
    MPI_Type_free(&type);
    return error;
}

static int freed_communicator(void)
{
    MPI_Comm dup, copy;
    MPI_Comm_dup(comm, &dup);
    copy = dup;
    MPI_Comm_free(&dup);
    return MPI_Barrier(copy);
}

static void blocking(void)
{
    COLLECTIVE("bcast-count", MPI_Bcast(a, -1, MPI_INT, 0, comm));
    COLLECTIVE("bcast-root", MPI_Bcast(a, 1, MPI_INT, n, comm));
    COLLECTIVE("bcast-negative-root", MPI_Bcast(a, 1, MPI_INT, -7, comm));
    COLLECTIVE("bcast-type", MPI_Bcast(a, 1, MPI_DATATYPE_NULL, 0, comm));
    COLLECTIVE("bcast-uncommitted", uncommitted());
    COLLECTIVE("bcast-buffer", MPI_Bcast(nowhere(), 1, MPI_INT, 0, comm));
    COLLECTIVE("bcast-communicator", MPI_Bcast(a, 1, MPI_INT, 0, MPI_COMM_NULL));
    COLLECTIVE("gather-count", MPI_Gather(a, -1, MPI_INT, b, -1, MPI_INT, 0, comm));
    COLLECTIVE("gather-root", MPI_Gather(a, 1, MPI_INT, b, 1, MPI_INT, n, comm));
    COLLECTIVE("gatherv-counts", MPI_Gatherv(a, -1, MPI_INT, b, negative, places, MPI_INT, 0, comm));
    COLLECTIVE("gatherv-no-counts", MPI_Gatherv(a, 1, MPI_INT, b, nowhere(), places, MPI_INT, n, comm));
    COLLECTIVE("scatter-root", MPI_Scatter(a, 1, MPI_INT, b, 1, MPI_INT, n, comm));
    COLLECTIVE("scatterv-counts", MPI_Scatterv(a, negative, places, MPI_INT, b, -1, MPI_INT, 0, comm));
    COLLECTIVE("allgather-count", MPI_Allgather(a, 1, MPI_INT, b, -1, MPI_INT, comm));
    COLLECTIVE("allgatherv-counts", MPI_Allgatherv(a, 1, MPI_INT, b, negative, places, MPI_INT, comm));
    COLLECTIVE("alltoall-type", MPI_Alltoall(a, 1, MPI_INT, b, 1, MPI_DATATYPE_NULL, comm));
    COLLECTIVE("alltoall-in-place", MPI_Alltoall(a, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm));
    COLLECTIVE("alltoallv-counts", MPI_Alltoallv(a, negative, places, MPI_INT, b, ones, places, MPI_INT, comm));
    COLLECTIVE("alltoallv-no-counts", MPI_Alltoallv(a, nowhere(), places, MPI_INT, b, ones, places, MPI_INT, comm));
    COLLECTIVE("alltoallw-types", MPI_Alltoallw(a, ones, places, no_types, b, ones, places, no_types, comm));
    COLLECTIVE("alltoallw-no-types", MPI_Alltoallw(a, ones, places, nowhere(), b, ones, places, nowhere(), comm));
    COLLECTIVE("reduce-root", MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, n, comm));
    COLLECTIVE("reduce-operator", MPI_Reduce(a, b, 1, MPI_INT, MPI_OP_NULL, 0, comm));
    COLLECTIVE("allreduce-operator", MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, comm));
    COLLECTIVE("allreduce-operator-for-others", MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_BAND, comm));
    COLLECTIVE("allreduce-type", MPI_Allreduce(a, b, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));
    COLLECTIVE("allreduce-same-buffer", MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, comm));
    COLLECTIVE("reduce-scatter-counts", MPI_Reduce_scatter(a, b, negative, MPI_INT, MPI_SUM, comm));
    COLLECTIVE("reduce-scatter-block-count", MPI_Reduce_scatter_block(a, b, -1, MPI_INT, MPI_SUM, comm));
    COLLECTIVE("scan-operator", MPI_Scan(a, b, 1, MPI_INT, MPI_OP_NULL, comm));
    COLLECTIVE("exscan-type", MPI_Exscan(a, b, 1, MPI_DATATYPE_NULL, MPI_SUM, comm));
    COLLECTIVE("barrier-communicator", MPI_Barrier(MPI_COMM_NULL));
    COLLECTIVE("barrier-freed-communicator", freed_communicator());
    COLLECTIVE("neighbours-without-topology", MPI_Neighbor_allgather(a, 1, MPI_INT, b, 1, MPI_INT, comm));
}

/* Only the class: the text tells what lies where the request was. */
static int completed_request(void)
{
    MPI_Request copy;
    int class;
    MPI_Ibarrier(good, &q);
    copy = q;
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Error_class(outcome(MPI_Wait(&copy, MPI_STATUS_IGNORE)), &class);
    return class;
}

static void requests(void)
{
    COLLECTIVE("ibcast-count", MPI_Ibcast(a, -1, MPI_INT, 0, comm, &q));
    COLLECTIVE("igatherv-root", MPI_Igatherv(a, 1, MPI_INT, b, ones, places, MPI_INT, n, comm, &q));
    COLLECTIVE("iallreduce-operator", MPI_Iallreduce(a, b, 1, MPI_INT, MPI_OP_NULL, comm, &q));
    COLLECTIVE("ialltoallw-types", MPI_Ialltoallw(a, ones, places, no_types, b, ones, places, no_types, comm, &q));
    COLLECTIVE("ibarrier-communicator", MPI_Ibarrier(MPI_COMM_NULL, &q));
    COLLECTIVE("ibarrier-no-request", MPI_Ibarrier(comm, nowhere()));
    COLLECTIVE("ineighbours-without-topology", MPI_Ineighbor_alltoall(a, 1, MPI_INT, b, 1, MPI_INT, comm, &q));
    OTHER("wait-no-request", MPI_Wait(nowhere(), MPI_STATUS_IGNORE));
    OTHER("wait-completed-request", completed_request());
    OTHER("waitall-count", MPI_Waitall(-1, &no_request, statuses_ignored()));
    OTHER("waitall-no-requests", MPI_Waitall(1, nowhere(), statuses_ignored()));
    OTHER("waitany-no-index", MPI_Waitany(1, &no_request, nowhere(), MPI_STATUS_IGNORE));
    OTHER("waitsome-count", MPI_Waitsome(-1, &no_request, &some, &index_of, statuses_ignored()));
    OTHER("test-no-flag", MPI_Test(&no_request, nowhere(), MPI_STATUS_IGNORE));
    OTHER("testall-count", MPI_Testall(-1, &no_request, &flag, statuses_ignored()));
    OTHER("testany-no-requests", MPI_Testany(1, nowhere(), &index_of, &flag, MPI_STATUS_IGNORE));
    OTHER("testsome-no-indices", MPI_Testsome(1, &no_request, &some, nowhere(), statuses_ignored()));
    OTHER("get-status-no-flag", MPI_Request_get_status(no_request, nowhere(), MPI_STATUS_IGNORE));
    OTHER("request-free-null", MPI_Request_free(&no_request));
    OTHER("request-free-nothing", MPI_Request_free(nowhere()));
    OTHER("start-null", MPI_Start(&no_request));
    OTHER("startall-count", MPI_Startall(-1, &no_request));
}

static int free_world(void) { MPI_Comm copy = MPI_COMM_WORLD; return MPI_Comm_free(&copy); }
static int free_int(void) { MPI_Datatype copy = MPI_INT; return MPI_Type_free(&copy); }

static int distant_neighbour(void)
{
    int far = n + 3;
    return MPI_Dist_graph_create_adjacent(comm, 1, &far, ones, 1, &far, ones, MPI_INFO_NULL, 0, &new);
}

static void handles(void)
{
    MANAGEMENT("dup-null", MPI_Comm_dup(MPI_COMM_NULL, &new));
    MANAGEMENT("dup-nowhere", MPI_Comm_dup(comm, nowhere()));
    MANAGEMENT("idup-null", MPI_Comm_idup(MPI_COMM_NULL, &new, &q));
    MANAGEMENT("split-null", MPI_Comm_split(MPI_COMM_NULL, 0, 0, &new));
    MANAGEMENT("split-colour", MPI_Comm_split(comm, -5, 0, &new));
    MANAGEMENT("split-type", MPI_Comm_split_type(comm, 1234567, 0, MPI_INFO_NULL, &new));
    MANAGEMENT("create-no-group", MPI_Comm_create(comm, MPI_GROUP_NULL, &new));
    MANAGEMENT("create-group-no-group", MPI_Comm_create_group(comm, MPI_GROUP_NULL, 1, &new));
    MANAGEMENT("cart-too-large", MPI_Cart_create(comm, 1, (int[]){n + 5}, ones, 0, &new));
    MANAGEMENT("cart-dimensions", MPI_Cart_create(comm, -1, ones, ones, 0, &new));
    MANAGEMENT("cart-sub-of-no-grid", MPI_Cart_sub(comm, ones, &new));
    MANAGEMENT("graph-too-large", MPI_Graph_create(comm, n + 5, ones, ones, 0, &new));
    MANAGEMENT("distant-neighbour", distant_neighbour());
    MANAGEMENT("intercomm-leader", MPI_Intercomm_create(comm, n + 3, comm, 0, 1, &new));
    MANAGEMENT("intercomm-null", MPI_Intercomm_create(MPI_COMM_NULL, 0, comm, 0, 1, &new));
    MANAGEMENT("merge-of-one-side", MPI_Intercomm_merge(comm, 0, &new));
    OTHER("name-of-null", MPI_Comm_set_name(MPI_COMM_NULL, "nobody"));
    OTHER("name-nothing", MPI_Comm_set_name(comm, nowhere()));
    MANAGEMENT("free-null", MPI_Comm_free(&no_comm));
    MANAGEMENT("free-nothing", MPI_Comm_free(nowhere()));
    MANAGEMENT("free-world", free_world());
    OTHER("commit-null", MPI_Type_commit(&no_type));
    OTHER("commit-nothing", MPI_Type_commit(nowhere()));
    OTHER("type-dup-null", MPI_Type_dup(MPI_DATATYPE_NULL, &no_type));
    OTHER("type-free-null", MPI_Type_free(&no_type));
    OTHER("type-free-nothing", MPI_Type_free(nowhere()));
    OTHER("type-free-predefined", free_int());
}

int main(int argc, char **argv)
{
    arguments = argc, names = argv;
    MPI_Init(&argc, &argv);
    world();
    n = world_size;
    CHECK(n <= 16);
    for (int i = 0; i < 16; i++) ones[i] = 1, negative[i] = -1, no_types[i] = MPI_DATATYPE_NULL;
    comm = named("mistakes"), good = named("good");
    MPI_Errhandler errors = MPI_ERRORS_RETURN;
    if (left_out("handled")) MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(comm, errors);
    /* That of the world, or in MPI 4 that of MPI_COMM_SELF, is called where there is no communicator. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errors);
    blocking();
    requests();
    handles();
    report("good %d refused %d done %d", good_calls, refused, done);
    MPI_Comm_free(&good);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
