/* A program with a warm-up of known cause, for docs/tutorial.md. The operator of its reduction goes through a ring of 256
 * slots, as a transport does. The first time round it touches memory that has no pages yet: 256 slow repetitions.
 *
 * `warm_up touched` touches the ring before. With -DTIMERS the two steps are timed by include/mpitrace.h. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifdef TIMERS
#include "mpitrace.h"
#else
#define mpitrace_timer(name) 0
#define mpitrace_timer_start(timer) (void)(timer)
#define mpitrace_timer_stop(timer) (void)(timer)
#endif

enum { REPETITIONS = 2000, COUNT = 125, SLOTS = 256, SLOT_BYTES = 4 * 4096 };

static char *ring;
static int filling, adding;

/* Puts a value into each page of the next slot. */
static void fill_slot(char *slot, const double *value)
{
    for (int page = 0; page < SLOT_BYTES; page += 4096) memcpy(slot + page, value, sizeof *value);
}

static void add(const double *a, double *b, int count)
{
    for (int i = 0; i < count; i++) b[i] += a[i];
}

static void through_the_ring(void *in, void *inout, int *count, MPI_Datatype *type)
{
    static unsigned next;
    (void)type;
    mpitrace_timer_start(filling);
    fill_slot(ring + (size_t)(next++ % SLOTS) * SLOT_BYTES, in);
    mpitrace_timer_stop(filling);
    mpitrace_timer_start(adding);
    add(in, inout, *count);
    mpitrace_timer_stop(adding);
}

int main(int argc, char **argv)
{
    static double in[COUNT], out[COUNT];
    size_t size = (size_t)SLOTS * SLOT_BYTES;
    MPI_Op operator;
    MPI_Init(&argc, &argv);
    ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
    madvise(ring, size, MADV_NOHUGEPAGE); /* else the first touch of a slot brings the pages of the next ones */
    if (argc > 1 && strcmp(argv[1], "touched") == 0) memset(ring, 0, size);
    filling = mpitrace_timer("filling a slot");
    adding = mpitrace_timer("adding");
    MPI_Op_create(through_the_ring, 1, &operator);
    for (int i = 0; i < REPETITIONS; i++)
        MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, operator, MPI_COMM_WORLD);
    MPI_Op_free(&operator);
    MPI_Finalize();
    return 0;
}
