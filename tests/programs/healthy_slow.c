/* healthy_slow WHICH SECONDS: a program that is slow in one way or another for about so many seconds, and ends. No rank
 * stays in one place for long: every step takes some 0.2 s. Each rank says on stderr what its longest step took. */
#include "report.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP 0.2

static double began, step_began, longest, seconds;
static int value[4], sum[4];
static MPI_Comm other;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

/* A step has ended: true as long as there is time for another. Rank 0 decides it for those that step together. */
static void stepped(void)
{
    double here = now();
    if (here - step_began > longest) longest = here - step_began;
    step_began = here;
}

static int again(MPI_Comm comm)
{
    int more = now() - began < seconds;
    MPI_Bcast(&more, 1, MPI_INT, 0, comm);
    stepped();
    return more;
}

static void compute(double time)
{
    double until = now() + time;
    while (now() < until) {
    }
}

static void rest(double time)
{
    usleep((useconds_t)(1e6 * time));
}

/* Rank 1 computes for long, the others wait for it. */
static void computing(void)
{
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) compute(STEP);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Rank 1 sleeps. */
static void sleeping(void)
{
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP);
        MPI_Allreduce(value, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Another rank is late each time. */
static void rotating(void)
{
    for (int k = 0; again(MPI_COMM_WORLD); k++) {
        if (world_rank == k % world_size) rest(STEP);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Ranks have shares of very different size. */
static void imbalanced(void)
{
    while (again(MPI_COMM_WORLD)) {
        compute(STEP * world_rank / world_size);
        MPI_Allreduce(value, sum, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
}

static void slow_sum(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)type;
    rest(STEP / 2);
    for (int k = 0; k < *count; k++) ((int *)out)[k] += ((int *)in)[k];
}

/* The operator of a reduction takes its time: all ranks are inside. */
static void reduction(void)
{
    MPI_Op op;
    MPI_Op_create(slow_sum, 1, &op);
    while (again(MPI_COMM_WORLD)) MPI_Allreduce(value, sum, 4, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
}

/* Ranks 2 and above are done and wait in a barrier, while 0 works off messages of 1 one after the other. */
static void master(void)
{
    int more = 1;
    while (world_rank == 0 && more) {
        MPI_Recv(&more, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        stepped();
    }
    while (world_rank == 1 && more) {
        rest(STEP / 4);
        more = now() - began < seconds;
        MPI_Send(&more, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        stepped();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The same, where nobody waits in a collective call meanwhile, and 0 asks whether there is a message. */
static void probing(void)
{
    int more = 1;
    while (world_rank == 0 && more) {
        int there = 0;
        while (!there) MPI_Iprobe(1, 3, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        MPI_Recv(&more, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        stepped();
    }
    while (world_rank == 1 && more) {
        rest(STEP);
        more = now() - began < seconds;
        MPI_Send(&more, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        stepped();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A token goes from rank to rank, each of which keeps it for a while. */
static void ring(void)
{
    int next = (world_rank + 1) % world_size, before = (world_rank + world_size - 1) % world_size, more = 1;
    while (more) {
        if (world_rank > 0) MPI_Recv(&more, 1, MPI_INT, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (world_rank == 0) more = now() - began < seconds;
        rest(STEP / 2);
        MPI_Send(&more, 1, MPI_INT, next, 4, MPI_COMM_WORLD);
        if (world_rank == 0) MPI_Recv(&more, 1, MPI_INT, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        stepped();
    }
}

/* A non-blocking call, tested while there is other work. */
static void testing(void)
{
    while (again(MPI_COMM_WORLD)) {
        MPI_Request request;
        int done = 0;
        if (world_rank == 1) rest(STEP);
        MPI_Iallreduce(value, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        while (!done) {
            rest(STEP / 20);
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
    }
}

/* A non-blocking call, waited for. */
static void waiting(void)
{
    while (again(MPI_COMM_WORLD)) {
        MPI_Request request;
        if (world_rank == 1) compute(STEP);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Communicators are made and freed, slowly. */
static void splitting(void)
{
    while (again(MPI_COMM_WORLD)) {
        MPI_Comm part;
        if (world_rank == 1) rest(STEP);
        MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &part);
        MPI_Barrier(part);
        MPI_Comm_free(&part);
    }
}

/* Calls on two communicators in turn. */
static void two(void)
{
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP / 2);
        MPI_Barrier(other);
        if (world_rank == 0) rest(STEP / 2);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* The root of broadcasts is ahead of the others, which are slow. */
static void ahead(void)
{
    while (again(other)) {
        if (world_rank != 0) rest(STEP);
        for (int k = 0; k < 5; k++) MPI_Bcast(value, 4, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* The root of gathers is late. */
static void gathering(void)
{
    static int all[1024];
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 0) rest(STEP);
        MPI_Gather(value, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* Fences of a window, to which one rank comes late. */
static void window(void)
{
    MPI_Win win;
    MPI_Win_create(value, sizeof value, sizeof *value, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP);
        MPI_Win_fence(0, win);
    }
    MPI_Win_free(&win);
}

/* Recording is paused, and calls go on slowly. */
static void paused(void)
{
    MPI_Pcontrol(0);
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Pcontrol(1);
}

/* Even ranks are quick among themselves, the odd ones slow. */
static void halves(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
    while (again(half)) {
        if (world_rank % 2) rest(STEP);
        MPI_Barrier(half);
    }
    MPI_Comm_free(&half);
}

/* A process that stops rank 1 and lets it go on. */
static pid_t stopper;

static void stopping(void)
{
    while (again(MPI_COMM_WORLD)) {
        compute(STEP / 4);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void *work(void *nothing)
{
    (void)nothing;
    compute(STEP);
    return NULL;
}

/* A thread of rank 1 works, and the one that calls MPI waits for it. */
static void threads(void)
{
    while (again(MPI_COMM_WORLD)) {
        pthread_t worker;
        if (world_rank == 1 && pthread_create(&worker, NULL, work, NULL) == 0) pthread_join(worker, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* A rank writes to a file for long. */
static void writing(void)
{
    FILE *file = tmpfile();
    while (again(MPI_COMM_WORLD)) {
        double until = now() + STEP;
        while (world_rank == 1 && file && now() < until) {
            rewind(file);
            fwrite(sum, sizeof sum, 1, file);
            fflush(file);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Rank 1 comes late to MPI_Finalize. */
static void finalizing(void)
{
    if (world_rank == 1) rest(2 * STEP);
}

/* Until rank 0 says that it is enough: a message with it, first. */
static int more_from_0(void)
{
    int more = now() - began < seconds;
    if (world_rank == 0)
        for (int rank = 1; rank < world_size; rank++) MPI_Send(&more, 1, MPI_INT, rank, 9, MPI_COMM_WORLD);
    else
        MPI_Recv(&more, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    stepped();
    return more;
}

/* Each rank exchanges messages with both neighbours, of which rank 1 is late. */
static void halo(void)
{
    int next = (world_rank + 1) % world_size, before = (world_rank + world_size - 1) % world_size;
    while (more_from_0()) {
        MPI_Request requests[4];
        if (world_rank == 1) rest(STEP);
        MPI_Irecv(&sum[0], 1, MPI_INT, before, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&sum[1], 1, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&value[0], 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(&value[1], 1, MPI_INT, before, 2, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
}

/* The same by MPI_Sendrecv. */
static void shifting(void)
{
    int next = (world_rank + 1) % world_size, before = (world_rank + world_size - 1) % world_size;
    while (more_from_0()) {
        if (world_rank == 1) compute(STEP);
        MPI_Sendrecv(value, 1, MPI_INT, next, 1, sum, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The receiver of synchronous sends is slow. */
static void synchronous(void)
{
    while (more_from_0()) {
        if (world_rank == 1) rest(STEP);
        if (world_rank == 0) MPI_Ssend(value, 4, MPI_INT, 1, 1, MPI_COMM_WORLD);
        if (world_rank == 1) MPI_Recv(sum, 4, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Two ranks answer each other as fast as they can, the third one waits for them. */
static void answering(void)
{
    for (int more = 1; world_rank < 2 && more;) {
        if (world_rank == 0) more = now() - began < seconds;
        for (int k = 0; k < 2; k++) {
            if (world_rank == k) MPI_Send(&more, 1, MPI_INT, 1 - k, 1, MPI_COMM_WORLD);
            else MPI_Recv(&more, 1, MPI_INT, k, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        stepped();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 hands out work to whoever asks, by requests of which it waits for any. */
static void handing_out(void)
{
    static MPI_Request requests[64];
    if (world_rank > 0) {
        for (int more = 1; more;) {
            rest(STEP / 2 * world_rank);
            MPI_Send(value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(&more, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            stepped();
        }
        return;
    }
    for (int rank = 1; rank < world_size; rank++)
        MPI_Irecv(&sum[0], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[rank - 1]);
    for (int open = world_size - 1; open > 0;) {
        int index, more = now() - began < seconds;
        MPI_Waitany(world_size - 1, requests, &index, MPI_STATUS_IGNORE);
        MPI_Send(&more, 1, MPI_INT, index + 1, 2, MPI_COMM_WORLD);
        if (more) MPI_Irecv(&sum[0], 1, MPI_INT, index + 1, 1, MPI_COMM_WORLD, &requests[index]);
        else open--;
        stepped();
    }
}

/* Rank 0 sends what takes long to arrive: the message is large, and rank 1 comes late. */
static void large(void)
{
    int count = 1 << 22;
    int *buffer = calloc(count, sizeof *buffer);
    while (more_from_0()) {
        if (world_rank == 1) rest(STEP);
        if (world_rank == 0) MPI_Send(buffer, count, MPI_INT, 1, 1, MPI_COMM_WORLD);
        if (world_rank == 1) MPI_Recv(buffer, count, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(buffer);
}

/* Persistent requests, of which the sender is late. */
static void persistent(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (world_rank == 0) MPI_Recv_init(sum, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    if (world_rank == 1) MPI_Send_init(value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    while (more_from_0()) {
        if (world_rank == 1) rest(STEP);
        if (world_rank < 2) MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (world_rank < 2) MPI_Request_free(&request);
}

/* A broadcast under way while ranks exchange messages. */
static void overlapping(void)
{
    while (again(MPI_COMM_WORLD)) {
        MPI_Request request;
        MPI_Ibcast(value, 1, MPI_INT, 0, other, &request);
        if (world_rank == 1) rest(STEP);
        if (world_rank == 1) MPI_Send(value, 1, MPI_INT, 2, 1, MPI_COMM_WORLD);
        if (world_rank == 2) MPI_Recv(sum, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* Rank 1 tests for a message while it works; rank 0 is late. */
static void polling(void)
{
    while (more_from_0()) {
        MPI_Request request;
        if (world_rank == 0) rest(STEP);
        if (world_rank == 0) MPI_Send(value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        if (world_rank != 1) continue;
        MPI_Irecv(sum, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
        for (int done = 0; !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE)) compute(STEP / 20);
    }
}

static MPI_Win new_window(void)
{
    MPI_Win win;
    MPI_Win_create(value, sizeof value, sizeof *value, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    return win;
}

/* Rank 1 keeps a lock for a while, for which others wait. */
static void locking(void)
{
    MPI_Win win;
    int *base;
    /* Open MPI 4 may hang in locks of memory that the program has allocated. */
    MPI_Win_allocate(sizeof value, sizeof *value, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    while (again(MPI_COMM_WORLD)) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        if (world_rank == 1) rest(STEP);
        MPI_Put(sum, 1, MPI_INT, 0, world_rank, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
}

/* Rank 1 opens its window late to rank 0. */
static void posting(void)
{
    MPI_Win win = new_window();
    MPI_Group all, one;
    int partner = 1 - world_rank;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, world_rank < 2, &partner, &one);
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) {
            rest(STEP);
            MPI_Win_post(one, 0, win);
            MPI_Win_wait(win);
        } else if (world_rank == 0) {
            MPI_Win_start(one, 0, win);
            MPI_Put(sum, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            MPI_Win_complete(win);
        }
    }
    MPI_Group_free(&all);
    if (world_rank < 2) MPI_Group_free(&one);
    MPI_Win_free(&win);
}

/* Both groups of an intercommunicator meet, one of them late; messages go between them. */
static void between(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world_rank % 2, 7, &both);
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP);
        if (world_rank == 1) MPI_Send(value, 1, MPI_INT, 0, 1, both);
        if (world_rank == 0) MPI_Recv(sum, 1, MPI_INT, 0, 1, both, MPI_STATUS_IGNORE);
        MPI_Barrier(both);
    }
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* Collective writes to a file, to which rank 1 comes late. */
static void file(void)
{
    char name[64] = "";
    MPI_File opened;
    if (world_rank == 0) snprintf(name, sizeof name, "/tmp/healthy_slow.%d", (int)getpid());
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &opened);
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP);
        MPI_File_write_at_all(opened, world_rank * sizeof value, value, 4, MPI_INT, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&opened);
}

/* Neighbours in a topology, one of them late. */
static void neighbours(void)
{
    MPI_Comm line;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, (int[]){1}, 0, &line);
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP);
        MPI_Neighbor_allgather(value, 1, MPI_INT, sum, 1, MPI_INT, line);
    }
    MPI_Comm_free(&line);
}

/* Rank 0 looks for a message of any rank, and the senders are slow in turn. */
static void finding(void)
{
    for (int k = 0; more_from_0(); k++) {
        int sender = 1 + k % (world_size - 1);
        MPI_Status status;
        if (world_rank == sender) {
            rest(STEP);
            MPI_Send(value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        } else if (world_rank == 0) {
            MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            MPI_Recv(sum, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

/* A pipeline of scans: each rank waits for those before it. */
static void scanning(void)
{
    while (again(MPI_COMM_WORLD)) {
        if (world_rank == 1) rest(STEP);
        MPI_Scan(value, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Exscan(value, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* A group makes a communicator of its own, one of it late. */
static void grouping(void)
{
    MPI_Group all, two;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, (int[]){0, 1}, &two);
    while (again(MPI_COMM_WORLD)) {
        MPI_Comm pair;
        if (world_rank == 1) rest(STEP);
        if (world_rank > 1) continue;
        MPI_Comm_create_group(MPI_COMM_WORLD, two, 3, &pair);
        MPI_Comm_free(&pair);
    }
    MPI_Group_free(&two);
    MPI_Group_free(&all);
}

/* Rank 0 gathers by requests of some at a time. */
static void some(void)
{
    while (more_from_0()) {
        MPI_Request requests[8];
        int count, indices[8];
        if (world_rank > 0) rest(STEP / 2 * (world_rank - 1));
        if (world_rank > 0) MPI_Send(value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        for (int rank = 1; world_rank == 0 && rank < world_size; rank++)
            MPI_Irecv(&sum[0], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[rank - 1]);
        for (int open = world_rank == 0 ? world_size - 1 : 0; open > 0; open -= count)
            MPI_Waitsome(world_size - 1, requests, &count, indices, MPI_STATUSES_IGNORE);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} programs[] = {
    {"computing", computing}, {"sleeping", sleeping}, {"rotating", rotating},   {"imbalanced", imbalanced},
    {"reduction", reduction}, {"master", master},     {"probing", probing},     {"ring", ring},
    {"testing", testing},     {"waiting", waiting},   {"splitting", splitting}, {"two", two},
    {"ahead", ahead},         {"gathering", gathering}, {"window", window},     {"paused", paused},
    {"halves", halves},       {"stopping", stopping}, {"threads", threads},     {"writing", writing},
    {"finalizing", finalizing},
    {"halo", halo},
    {"shifting", shifting},
    {"synchronous", synchronous},
    {"answering", answering},
    {"handing_out", handing_out},
    {"large", large},
    {"persistent", persistent},
    {"overlapping", overlapping},
    {"polling", polling},
    {"locking", locking},
    {"posting", posting},
    {"between", between},
    {"file", file},
    {"neighbours", neighbours},
    {"finding", finding},
    {"scanning", scanning},
    {"grouping", grouping},
    {"some", some},
};

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";
    seconds = argc > 2 ? atof(argv[2]) : 5;
    size_t found = 0, all = sizeof programs / sizeof *programs;
    while (found < all && strcmp(programs[found].name, which)) found++;
    if (programs[found % all].run == stopping) {
        pid_t parent = getpid();
        stopper = fork();
        if (stopper == 0) {
            for (double until = now() + seconds; now() < until;) {
                rest(STEP);
                kill(parent, SIGSTOP);
                rest(STEP);
                kill(parent, SIGCONT);
            }
            _exit(0);
        }
    }
    MPI_Init(&argc, &argv);
    world();
    CHECK(found < all);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Barrier(MPI_COMM_WORLD);
    began = step_began = now();
    programs[found].run();
    if (stopper > 0) {
        int status;
        waitpid(stopper, &status, 0);
    }
    fprintf(stderr, "longest step of a rank: %.3f s\n", longest);
    MPI_Finalize();
    return 0;
}
