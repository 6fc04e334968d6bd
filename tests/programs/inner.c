/* inner: code inside the stack that counts and times, by include/mpitrace.h. A user's reduction operator stands for the
 * inside of the MPI library; a region of 20 repetitions sleeps, touches new pages, and computes, each in a share of its
 * own. Prints the values that it reads back ("-" without the tracer). */
#include "mpitrace.h"
#include "report.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define REPETITIONS 20
#define PAGES 64

static int combined, in_combine;

static void combine(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    mpitrace_timer_start(in_combine);
    mpitrace_add(combined, (uint64_t)*count);
    for (int i = 0; i < *count; i++) ((double *)inout)[i] += ((double *)in)[i];
    mpitrace_timer_stop(in_combine);
}

static void touch(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
    for (int i = 0; i < PAGES; i++) ((volatile char *)memory)[i * page] = 1;
    munmap(memory, PAGES * page);
}

/* By another clock of the kernel than a counter of task-clock, which may read some us less. */
static void spin(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    double until = now.tv_sec + now.tv_nsec * 1e-9 + seconds;
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec + now.tv_nsec * 1e-9 < until);
}

int main(int argc, char **argv)
{
    int steps = mpitrace_counter("steps", "steps");
    int again = mpitrace_counter("steps", NULL), region;
    double in[4] = {1, 2, 3, 4}, out[4];
    MPI_Op op;

    MPI_Init(&argc, &argv);
    world();
    combined = mpitrace_counter("combined", "elements");
    in_combine = mpitrace_timer("in combine");
    region = mpitrace_region("iteration");
    MPI_Op_create(combine, 1, &op);
    for (int k = 0; k < REPETITIONS; k++) {
        mpitrace_add(steps, 1000); /* outside of everything */
        mpitrace_region_begin(region);
        if (k % 4 == 1) usleep(5000);
        if (k % 4 == 2) touch();
        if (k % 4 == 3) spin(0.0051);
        mpitrace_add(steps, (uint64_t)k);
        MPI_Allreduce(in, out, 4, MPI_DOUBLE, op, MPI_COMM_WORLD);
        mpitrace_add(again, 1);
        mpitrace_region_end(region);
        mpitrace_region_end(region); /* not in progress any more */
    }
    MPI_Op_free(&op);
    MPI_Finalize();
    mpitrace_add(steps, 1);
    return 0;
}
