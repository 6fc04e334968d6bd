/* broken WHICH: three ranks (four where it says so) make ten calls that belong together, and then one thing is wrong
 * that keeps some of them from going on for ever. What is wrong is said at each function below. */
#include "report.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#define MANY (1 << 16)

static MPI_Comm other;
static int in[MANY], out[MANY];

static void for_ever(void)
{
    for (;;) pause();
}

static void busy(void)
{
    for (volatile unsigned long k = 0;; k++) {
    }
}

/* Rank 0 and the others call on two communicators in another order. */
static void order(void)
{
    MPI_Barrier(world_rank == 0 ? MPI_COMM_WORLD : other);
    MPI_Barrier(world_rank == 0 ? other : MPI_COMM_WORLD);
}

/* Four ranks in two rows and two columns: each waits in one of them for the next. */
static void circle(void)
{
    MPI_Comm row, column;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank / 2, world_rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &column);
    int first_row = world_rank == 0 || world_rank == 3;
    MPI_Barrier(first_row ? row : column);
    MPI_Barrier(first_row ? column : row);
}

/* Rank 1 does not come: it sleeps. */
static void missing(void)
{
    if (world_rank == 1) for_ever();
    MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* Rank 1 does not come: it computes. */
static void loops(void)
{
    if (world_rank == 1) busy();
    MPI_Bcast(in, 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 2 takes another rank for the root. */
static void root(void)
{
    MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, world_rank == 2 ? 2 : 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for_ever();
}

/* Rank 1 passes another count. */
static void count(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Reduce(in, out, world_rank == 1 ? 1 : 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for_ever();
}

/* Rank 1 passes another operator. */
static void operator(void)
{
    MPI_Allreduce(in, out, 1, MPI_INT, world_rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    for_ever();
}

/* Rank 1 calls another function. */
static void function(void)
{
    if (world_rank == 1) {
        MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for_ever();
}

/* Rank 1 ends without MPI_Finalize, when the others are in the next call. */
static void leaves(void)
{
    if (world_rank == 1) usleep(400000);
    if (world_rank == 1) _exit(0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 crashes, when the others are in the next call. */
static void crashes(void)
{
    if (world_rank == 1) {
        usleep(400000);
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 is stopped. */
static void stops(void)
{
    if (world_rank == 1) raise(SIGSTOP);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 does not come to MPI_Finalize, in which the others are. */
static void finalize(void)
{
    if (world_rank == 1) for_ever();
}

/* Rank 1 is in MPI_Finalize, and does not come to the call of the others. */
static void early_finalize(void)
{
    if (world_rank != 1) MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 waits for a message that is never sent. */
static void receive(void)
{
    if (world_rank == 1) MPI_Recv(in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The same, by a request. */
static void request(void)
{
    if (world_rank == 1) {
        MPI_Request never;
        MPI_Irecv(in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &never);
        MPI_Wait(&never, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The same, by a probe. */
static void probe(void)
{
    MPI_Status status;
    if (world_rank == 1) MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All ranks wait for a message of another. */
static void receives(void)
{
    MPI_Recv(in, 1, MPI_INT, (world_rank + 1) % world_size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void sleep_in_it(int number)
{
    (void)number;
    for_ever();
}

static void compute_in_it(int number)
{
    (void)number;
    busy();
}

static void handled(void (*handler)(int))
{
    if (world_rank == 1) {
        signal(SIGUSR1, handler);
        raise(SIGUSR1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 sleeps in a signal handler. */
static void handler(void)
{
    handled(sleep_in_it);
}

/* Rank 1 computes in a signal handler. */
static void handler_loops(void)
{
    handled(compute_in_it);
}

/* Rank 1 does not come to a non-blocking call, which the others wait for. */
static void non_blocking(void)
{
    MPI_Request request;
    if (world_rank == 1) for_ever();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void ibarrier(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The same as `order`, with requests. */
static void order_of_requests(void)
{
    ibarrier(world_rank == 0 ? MPI_COMM_WORLD : other);
    ibarrier(world_rank == 0 ? other : MPI_COMM_WORLD);
}

/* Rank 1 makes one call fewer than the others on a communicator of its own with rank 0, and waits on MPI_COMM_WORLD. */
static void fewer(void)
{
    if (world_rank != 1) MPI_Barrier(other);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void never_returns(MPI_Comm *communicator, int *code, ...)
{
    (void)communicator, (void)code;
    for_ever();
}

/* Rank 1 is in an error handler of the program. */
static void error_handler(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(never_returns, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (world_rank == 1) MPI_Send(in, 1, MPI_INT, world_size + 5, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 makes a communicator, which the others do not. */
static void communicator(void)
{
    MPI_Comm new;
    if (world_rank == 1) MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &new);
    MPI_Barrier(other);
}

/* Of four ranks, 1 does not come to a call of 0 and 1; 2 and 3 go on. */
static void half(void)
{
    MPI_Comm pair;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank / 2, world_rank, &pair);
    MPI_Barrier(pair);
    if (world_rank == 1) for_ever();
    if (world_rank == 0) MPI_Barrier(pair);
    for (;;) {
        MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, pair);
        usleep(50000);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} programs[] = {
    {"order", order},
    {"circle", circle},
    {"missing", missing},
    {"loops", loops},
    {"root", root},
    {"count", count},
    {"operator", operator},
    {"function", function},
    {"leaves", leaves},
    {"crashes", crashes},
    {"stops", stops},
    {"finalize", finalize},
    {"early_finalize", early_finalize},
    {"receive", receive},
    {"request", request},
    {"probe", probe},
    {"receives", receives},
    {"handler", handler},
    {"handler_loops", handler_loops},
    {"non_blocking", non_blocking},
    {"order_of_requests", order_of_requests},
    {"fewer", fewer},
    {"error_handler", error_handler},
    {"communicator", communicator},
    {"half", half},
};

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";
    /* Whatever becomes of the test, the program ends. */
    alarm(300);
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int k = 0; k < 10; k++) MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    size_t found = 0, all = sizeof programs / sizeof *programs;
    while (found < all && strcmp(programs[found].name, which)) found++;
    CHECK(found < all);
    programs[found].run();
    MPI_Finalize();
    return 0;
}
