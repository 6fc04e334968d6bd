/* turns: Allreduces of 1 element and of 11, in turn, by an operator that runs a loop of two instructions TURNS times for
 * each element. Arguments: TURNS, how often (20), and `migrate`: in the operator the thread goes to another processor
 * and back, each time in the middle of the loop. */
#define _GNU_SOURCE
#include "mpitrace.h"
#include "report.h"

#include <sched.h>
#include <unistd.h>

enum { FEW = 1, MANY = 11 };

static unsigned long turns;
static int combined, migrates;

static void loop(unsigned long times)
{
    if (times == 0) return;
#if defined __x86_64__
    __asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(times) : : "cc");
#elif defined __aarch64__
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(times) : : "cc");
#else
#error "no loop of a known number of instructions for this processor"
#endif
}

static void go_to(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
}

static void combine(void *in, void *inout, int *count, MPI_Datatype *type)
{
    static int processor;
    unsigned long times = turns * (unsigned long)*count;
    (void)type;
    mpitrace_add(combined, (uint64_t)*count);
    ((double *)inout)[0] += ((double *)in)[0];
    if (migrates) {
        loop(times / 2);
        go_to(processor ^= 1);
        times -= times / 2;
    }
    loop(times);
}

int main(int argc, char **argv)
{
    double in[MANY] = {1}, out[MANY];
    int times = argc > 2 ? atoi(argv[2]) : 20;
    MPI_Op op;

    turns = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    migrates = argc > 3 && sysconf(_SC_NPROCESSORS_ONLN) > 1;
    MPI_Init(&argc, &argv);
    world();
    combined = mpitrace_counter("combined", "elements");
    MPI_Op_create(combine, 1, &op);
    /* Few, many, many, few: where ranks share a processor one of them may wait in every second call. */
    for (int i = 0; i < times; i++) {
        MPI_Allreduce(in, out, i % 2 ? MANY : FEW, MPI_DOUBLE, op, MPI_COMM_WORLD);
        MPI_Allreduce(in, out, i % 2 ? FEW : MANY, MPI_DOUBLE, op, MPI_COMM_WORLD);
    }
    MPI_Op_free(&op);
    MPI_Finalize();
    return 0;
}
