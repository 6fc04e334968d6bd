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

static void receive_of(int source, int tag, MPI_Comm comm)
{
    MPI_Recv(in, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE);
}

/* Rank 1 waits for a message with another tag than that which rank 0 has sent, and rank 0 for the answer. */
static void tags(void)
{
    if (world_rank == 0) {
        MPI_Send(out, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        receive_of(1, 9, MPI_COMM_WORLD);
    }
    if (world_rank == 1) receive_of(0, 8, MPI_COMM_WORLD);
}

/* Rank 0 sends on one communicator, rank 1 receives on the other. */
static void communicators(void)
{
    if (world_rank == 0) MPI_Send(out, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    if (world_rank == 1) receive_of(0, 7, other);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks 0 and 1 send to each other, and neither receives. */
static void sends(void)
{
    if (world_rank < 2) MPI_Ssend(out, 1, MPI_INT, 1 - world_rank, 7, MPI_COMM_WORLD);
}

/* Rank 1 sends to itself. */
static void itself(void)
{
    if (world_rank == 1) MPI_Ssend(out, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank sends to the next, and none receives. */
static void ring_of_sends(void)
{
    MPI_Ssend(out, 1, MPI_INT, (world_rank + 1) % world_size, 7, MPI_COMM_WORLD);
}

static void receives_of_both(MPI_Request requests[2])
{
    MPI_Irecv(in, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in + 1, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, &requests[1]);
}

/* Rank 1 waits for messages of all others, which wait for it in a barrier: for both of them. */
static void wait_for_all(void)
{
    MPI_Request requests[2];
    if (world_rank == 1) {
        receives_of_both(requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* For one of them. */
static void wait_for_any(void)
{
    MPI_Request requests[2];
    int index;
    if (world_rank == 1) {
        receives_of_both(requests);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* For some of them. */
static void wait_for_some(void)
{
    MPI_Request requests[2];
    int count, indices[2];
    if (world_rank == 1) {
        receives_of_both(requests);
        MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* For any rank. */
static void any_source(void)
{
    if (world_rank == 1) receive_of(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* For any rank, by a probe. */
static void probe_of_any(void)
{
    MPI_Status status;
    if (world_rank == 1) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 waits until rank 0 receives what it sends by a request. */
static void request_to_send(void)
{
    MPI_Request request;
    if (world_rank == 1) {
        MPI_Issend(out, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 waits for a persistent request. */
static void persistent(void)
{
    MPI_Request request;
    if (world_rank == 1) {
        MPI_Recv_init(in, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks 0 and 1 exchange messages, each with another tag than the other's. */
static void exchange(void)
{
    if (world_rank == 2) return;
    MPI_Sendrecv(out, 1, MPI_INT, 1 - world_rank, 7 + world_rank, in, 1, MPI_INT, 1 - world_rank, 7 + world_rank,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The same by requests, where one message of rank 0 arrives. */
static void halo(void)
{
    MPI_Request requests[3];
    int tag = 7 + world_rank, partner = 1 - world_rank;
    if (world_rank == 2) return;
    MPI_Irecv(in, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in + 1, 1, MPI_INT, partner, tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/* Rank 1 waits for a message of rank 0, which is in MPI_Finalize. */
static void of_finalized(void)
{
    if (world_rank == 1) receive_of(0, 7, MPI_COMM_WORLD);
}

/* Rank 1 waits for rank 0, which computes for ever, and rank 2 for rank 1. */
static void of_looping(void)
{
    if (world_rank == 0) busy();
    receive_of(world_rank - 1, 7, MPI_COMM_WORLD);
}

/* The same of a rank that sleeps. */
static void of_sleeping(void)
{
    if (world_rank == 0) for_ever();
    receive_of(world_rank - 1, 7, MPI_COMM_WORLD);
}

/* The same of a rank that is stopped. */
static void of_stopped(void)
{
    if (world_rank == 0) raise(SIGSTOP);
    receive_of((world_rank + world_size - 1) % world_size, 7, MPI_COMM_WORLD);
}

/* Rank 0 waits for a message before its broadcast, rank 1 for the broadcast before it sends. */
static void before_broadcast(void)
{
    if (world_rank == 0) receive_of(1, 7, MPI_COMM_WORLD);
    MPI_Bcast(in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (world_rank == 1) MPI_Send(out, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
}

/* Of four ranks, 0 and 1 wait for each other; 2 and 3 go on. */
static void pair(void)
{
    if (world_rank < 2) receive_of(1 - world_rank, 7, MPI_COMM_WORLD);
    for (;;) {
        MPI_Sendrecv(out, 1, MPI_INT, 5 - world_rank, 7, in, 1, MPI_INT, 5 - world_rank, 7, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        usleep(20000);
    }
}

/* Ranks of both groups of an intercommunicator wait for messages of each other. */
static void intercommunicator(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world_rank % 2, 7, &both);
    if (world_rank < 2) receive_of(0, 7, both);
}

/* Rank 1 does not come to a call on an intercommunicator. */
static void on_both_groups(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world_rank % 2, 7, &both);
    if (world_rank == 1) for_ever();
    MPI_Barrier(both);
}

static MPI_Win window(void)
{
    MPI_Win new;
    MPI_Win_create(in, sizeof in, sizeof *in, MPI_INFO_NULL, MPI_COMM_WORLD, &new);
    return new;
}

/* Rank 1 does not come to a fence. */
static void fence(void)
{
    MPI_Win win = window();
    if (world_rank == 1) for_ever();
    MPI_Win_fence(0, win);
}

/* Rank 0 and the others call on two windows in another order. */
static void windows(void)
{
    MPI_Win one = window(), two = window();
    MPI_Win_fence(0, world_rank == 0 ? one : two);
    MPI_Win_fence(0, world_rank == 0 ? two : one);
}

static MPI_Group group_of(int rank)
{
    MPI_Group all, one;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &rank, &one);
    return one;
}

/* Rank 1 never posts what rank 0 starts an access to. */
static void never_posted(void)
{
    MPI_Win win = window();
    if (world_rank == 0) {
        MPI_Win_start(group_of(1), 0, win);
        MPI_Put(out, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 never completes the access that rank 0 waits for. */
static void never_completed(void)
{
    MPI_Win win = window();
    if (world_rank == 0) {
        MPI_Win_post(group_of(1), 0, win);
        MPI_Win_wait(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Takes rank 0's lock, after so many microseconds. */
static MPI_Win locked(int after)
{
    MPI_Win win = window();
    usleep(after);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(out, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    return win;
}

/* Rank 1 goes to a barrier with a lock that rank 2 waits for. */
static void lock(void)
{
    if (world_rank == 0) window();
    if (world_rank == 1) locked(0);
    if (world_rank == 2) MPI_Win_unlock(0, locked(400000));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 sleeps with a lock that rank 2 waits for. */
static void lock_kept(void)
{
    if (world_rank == 0) window();
    if (world_rank == 1) locked(0);
    if (world_rank == 1) for_ever();
    if (world_rank == 2) MPI_Win_unlock(0, locked(400000));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 waits for a message of any rank, of which one sleeps and one waits for rank 0. */
static void any_of_sleeping(void)
{
    if (world_rank == 1) for_ever();
    if (world_rank == 0) MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 does not come to MPI_Comm_spawn. */
static void spawn(void)
{
    MPI_Comm children;
    if (world_rank == 1) for_ever();
    MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
}

/* Rank 1 does not come to MPI_File_open. */
static void file(void)
{
    MPI_File opened;
    if (world_rank == 1) for_ever();
    MPI_File_open(MPI_COMM_WORLD, "broken.data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &opened);
}

/* Rank 1 does not come to the making of a communicator. */
static void split(void)
{
    MPI_Comm new;
    if (world_rank == 1) for_ever();
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &new);
}

/* Rank 1 does not come to an exchange of neighbours. */
static void neighbours(void)
{
    MPI_Comm line;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){1}, 0, &line);
    if (world_rank == 1) for_ever();
    MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, line);
}

/* Rank 1 waits for a message and a barrier in one call. */
static void mixed_requests(void)
{
    MPI_Request requests[2];
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    if (world_rank == 1) {
        MPI_Irecv(in, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 tests a receive of a message of rank 0. */
static void test(void)
{
    MPI_Request request;
    int found = 0;
    if (world_rank == 1) {
        MPI_Irecv(in, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
        while (!found) MPI_Test(&request, &found, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 tests receives of both other ranks. */
static void test_any(void)
{
    MPI_Request requests[2];
    int index, found = 0;
    if (world_rank == 1) {
        receives_of_both(requests);
        while (!found) MPI_Testany(2, requests, &index, &found, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 asks whether there is a message of any rank. */
static void iprobe_of_any(void)
{
    int found = 0;
    while (world_rank == 1 && !found) MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 does not come to a barrier that rank 0 tests, while rank 2 waits for it. */
static void test_barrier(void)
{
    MPI_Request request;
    int found = 0;
    if (world_rank == 1) for_ever();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (world_rank == 0 && !found) MPI_Test(&request, &found, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
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
    {"tags", tags},
    {"communicators", communicators},
    {"sends", sends},
    {"itself", itself},
    {"ring_of_sends", ring_of_sends},
    {"wait_for_all", wait_for_all},
    {"wait_for_any", wait_for_any},
    {"wait_for_some", wait_for_some},
    {"any_source", any_source},
    {"probe_of_any", probe_of_any},
    {"request_to_send", request_to_send},
    {"persistent", persistent},
    {"exchange", exchange},
    {"halo", halo},
    {"of_finalized", of_finalized},
    {"of_looping", of_looping},
    {"of_sleeping", of_sleeping},
    {"of_stopped", of_stopped},
    {"before_broadcast", before_broadcast},
    {"pair", pair},
    {"intercommunicator", intercommunicator},
    {"on_both_groups", on_both_groups},
    {"fence", fence},
    {"windows", windows},
    {"never_posted", never_posted},
    {"never_completed", never_completed},
    {"lock", lock},
    {"lock_kept", lock_kept},
    {"any_of_sleeping", any_of_sleeping},
    {"spawn", spawn},
    {"file", file},
    {"split", split},
    {"neighbours", neighbours},
    {"mixed_requests", mixed_requests},
    {"test", test},
    {"test_any", test_any},
    {"iprobe_of_any", iprobe_of_any},
    {"test_barrier", test_barrier},
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
