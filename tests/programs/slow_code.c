/* One rank is late in most of 120 steps, each with an MPI_Allreduce, because of one line of the program:
 * `slow_code columns`: rank 1 reads a matrix by columns, beside much work that all ranks have; `copy`: the last rank
 * copies in a library; `touch`: rank 1 touches new memory; `turns`: the ranks in turns, 10 steps each; `sleep`: rank 0 sleeps;
 * `end`: rank 1 works before MPI_Finalize; `alike`: all sleep; `join`: rank 1 waits for a thread of its own; `even`:
 * none. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 120, SIDE = 1000, BYTES = 4 << 20 };

static double *matrix;
static char *from, *to;
static volatile double sum;

__attribute__((noinline)) static void by_rows(int times)
{
    for (int k = 0; k < times; k++)
        for (int i = 0; i < SIDE * SIDE; i++) sum += matrix[i];
}

__attribute__((noinline)) static void by_columns(int times)
{
    for (int k = 0; k < times; k++)
        for (int i = 0; i < SIDE * SIDE; i++) sum += matrix[i % SIDE * SIDE + i / SIDE]; /* columns */
}

/* The processor time of this thread, in s. */
static double used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* pack() and touch() take 10 ms of processor time, and so as many samples on a quick machine as on others. */
__attribute__((noinline)) static void pack(void)
{
    for (double begin = used(); used() - begin < 0.01;)
        for (int k = 0; k < 4; k++) memcpy(to, from + k, BYTES); /* copy */
}

__attribute__((noinline)) static void touch(void)
{
    char *memory = mmap(NULL, 4 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, 4 * BYTES, MADV_NOHUGEPAGE);
    for (double begin = used(); used() - begin < 0.01; madvise(memory, 4 * BYTES, MADV_DONTNEED))
        for (int k = 0; k < BYTES; k += 4096) memory[k] = 1; /* touch */
    munmap(memory, 4 * BYTES);
}

__attribute__((noinline)) static void write_output(void)
{
    usleep(30000); /* sleep */
}

static void *reads(void *times)
{
    by_columns(*(int *)times);
    return NULL;
}

__attribute__((noinline)) static void wait_for(int times)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, reads, &times) != 0) exit(1);
    pthread_join(thread, NULL); /* join */
}

__attribute__((noinline)) static void step(const char *fault, int rank, int size, int k)
{
    by_rows(2);
    if (strcmp(fault, "columns") == 0 && rank == 1 && k % 4 != 0) by_columns(4);
    if (strcmp(fault, "turns") == 0 && rank == k / 10 % size) by_columns(4);
    if (strcmp(fault, "copy") == 0 && rank == size - 1) pack();
    if (strcmp(fault, "touch") == 0 && rank == 1) touch();
    if (strcmp(fault, "sleep") == 0 && rank == 0) write_output();
    if (strcmp(fault, "alike") == 0) write_output();
    if (strcmp(fault, "join") == 0 && rank == 1) wait_for(4);
}

int main(int argc, char **argv)
{
    double in = 1, out = 0;
    int rank, size;
    const char *fault = argc > 1 ? argv[1] : "even";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    matrix = calloc(SIDE * SIDE, sizeof *matrix);
    from = calloc(2, BYTES);
    to = calloc(2, BYTES);
    for (int k = 0; k < STEPS; k++) {
        step(fault, rank, size, k);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (strcmp(fault, "end") == 0 && rank == 1) by_columns(300);
    MPI_Finalize();
    return 0;
}
