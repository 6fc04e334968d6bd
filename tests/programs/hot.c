/* An operator of a reduction that runs other code in the first SLOW of its calls than later, each for a set processor
 * time: `hot kernel` maps memory and touches it, `hot user` counts. `hot killed` ends by a signal after its last call. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { CALLS = 240, SLOW = 120, BYTES = 1 << 20 };

static int in_kernel;
static volatile long counted;

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((noinline)) static void touch(double until)
{
    while (processor_time() < until) {
        char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int byte = 0; byte < BYTES; byte += 4096) memory[byte] = 1; /* touched */
        munmap(memory, BYTES);
    }
}

__attribute__((noinline)) static void count_slowly(double until)
{
    while (processor_time() < until)
        for (int i = 0; i < 100000; i++) counted++; /* counted */
}

__attribute__((noinline)) static void add(double until)
{
    while (processor_time() < until)
        for (int i = 0; i < 10000; i++) counted++; /* added */
}

static void work(void *in, void *inout, int *count, MPI_Datatype *type)
{
    static int calls;
    double now = processor_time();
    (void)in, (void)inout, (void)count, (void)type;
    if (calls++ >= SLOW)
        add(now + 0.0005);
    else if (in_kernel)
        touch(now + 0.004);
    else
        count_slowly(now + 0.004);
}

int main(int argc, char **argv)
{
    double in = 1, out = 0;
    MPI_Op operator;
    MPI_Init(&argc, &argv);
    in_kernel = argc > 1 && strcmp(argv[1], "user") != 0;
    MPI_Op_create(work, 1, &operator);
    for (int i = 0; i < CALLS; i++) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, operator, MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "killed") == 0) raise(SIGKILL);
    MPI_Op_free(&operator);
    MPI_Finalize();
    return 0;
}
