/* small_stacks BYTES calls|communicators: calls of each kind, each as the first one of a thread whose stack has BYTES. How
 * many of them the thread has used goes to stderr, "used N KIND", with what lies on a stack beside frames: the thread's own
 * storage. Barriers are as many as fill some chunks of a small trace buffer. */
#define _GNU_SOURCE
#include "report.h"

#include <pthread.h>
#include <sys/mman.h>

#include "mpitrace.h"

enum { PAINT = 0xa5 };

static MPI_Datatype pair;
static double in[4] = {1, 2, 3, 4}, out[64];

static void barriers(void)
{
    for (int i = 0; i < 600; i++) MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void) { MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD); }

static void derived_type(void) { MPI_Bcast(in, 2, pair, 0, MPI_COMM_WORLD); }

static void request(void)
{
    MPI_Request request;
    MPI_Iallreduce(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void duplicate(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "of a small stack");
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
}

static void split(void)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, world_size - world_rank, &comm);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
}

static void messages(void)
{
    MPI_Request requests[2];
    int other = (world_rank + 1) % world_size, before = (world_rank + world_size - 1) % world_size;
    MPI_Irecv(out, 2, MPI_DOUBLE, before, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(in, 2, MPI_DOUBLE, other, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void region(void)
{
    int number = mpitrace_region("of a small stack");
    mpitrace_region_begin(number);
    MPI_Barrier(MPI_COMM_WORLD);
    mpitrace_region_end(number);
}

static void *run(void *work)
{
    ((void (*)(void))work)();
    return NULL;
}

static void on_a_stack(const char *name, void (*work)(void), size_t bytes)
{
    unsigned char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    size_t unused = 0;
    CHECK(stack != MAP_FAILED);
    memset(stack, PAINT, bytes);
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstack(&attributes, stack, bytes) == 0);
    CHECK(pthread_create(&thread, &attributes, run, (void *)work) == 0);
    pthread_join(thread, NULL);
    while (unused < bytes && stack[unused] == PAINT) unused++;
    if (world_rank == 0) fprintf(stderr, "used %zu %s\n", bytes - unused, name);
    /* Memory next to it may be written to where it was too small. */
    CHECK(unused > 0);
    munmap(stack, bytes);
}

static void nothing(void) {}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    world();
    size_t bytes = (size_t)atol(argv[1]);
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    if (provided == MPI_THREAD_MULTIPLE) {
        on_a_stack("nothing", nothing, bytes);
        on_a_stack("allreduce", allreduce, bytes);
        on_a_stack("barriers", barriers, bytes);
        on_a_stack("derived_type", derived_type, bytes);
        on_a_stack("request", request, bytes);
        on_a_stack("messages", messages, bytes);
        on_a_stack("region", region, bytes);
        if (strcmp(argv[2], "communicators") == 0) {
            on_a_stack("duplicate", duplicate, bytes);
            on_a_stack("split", split, bytes);
        }
    }
    MPI_Type_free(&pair);
    report("%g", out[0]);
    MPI_Finalize();
    return 0;
}
