/* What the papers of docs/developers/sources-covered.md measure, each in loops of its own.
 *
 *   papers sizes        Allreduce, Bcast and Scan of several sizes, each call behind a barrier; then loops without one
 *   papers nonblocking  Iallreduce with work between start and wait, and tests in it; the same without work, and
 *   blocking papers steps        messages through slots that are checked first, counted and timed by roth_tracing.h
 *   papers pause        Allreduce for half a second, with pauses: clocks have time to drift */
#include "roth_tracing.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 16384, SLOTS = 64, SLOT_BYTES = 4096 };

static double in[LARGEST / sizeof(double)], out[LARGEST / sizeof(double)];

static void one(int which, int bytes)
{
    int count = bytes / (int)sizeof(double);
    if (which == 0) MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (which == 1) MPI_Bcast(in, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (which == 2) MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void sizes(void)
{
    for (int which = 0; which < 3; which++) {
        for (int bytes = 8; bytes <= LARGEST; bytes *= 8)
            for (int i = 0; i < 100; i++) {
                MPI_Barrier(MPI_COMM_WORLD);
                one(which, bytes);
            }
    }
    for (int loop = 0; loop < 5; loop++) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 20; i++) MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
}

static void work(double seconds)
{
    double from = MPI_Wtime();
    while (MPI_Wtime() - from < seconds) continue;
}

static void nonblocking(void)
{
    int count = LARGEST / (int)sizeof(double);
    for (int i = 0; i < 100; i++) {
        MPI_Request request;
        int is_done = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        for (int part = 0; part < 4; part++) {
            work(5e-6);
            MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void steps(void)
{
    enum { SENDS, COUNTERS };
    enum { CHECK_TIME, TAKE_TIME, TIMERS };
    static const char *const counters[] = {"SENDS"}, *const timers[] = {"CHECK_TIME", "TAKE_TIME"};
    volatile char *ring = malloc((size_t)SLOTS * SLOT_BYTES);
    int slot = 0;
    init_tracer(400, counters, COUNTERS, timers, TIMERS);
    for (int k = 0; k < 400; k++) {
        MPI_Barrier(MPI_COMM_WORLD);
        roth_tracing_start_repetition(k);
        for (int i = 0; i < 2; i++, slot = (slot + 1) % SLOTS) {
            volatile char *own = ring + (size_t)slot * SLOT_BYTES;
            roth_tracing_start_timer(CHECK_TIME);
            char is_free = own[0];
            roth_tracing_stop_timer(CHECK_TIME);
            roth_tracing_start_timer(TAKE_TIME);
            for (int line = 0; line < SLOT_BYTES; line += 64) own[line] = (char)(is_free + 1);
            roth_tracing_stop_timer(TAKE_TIME);
            roth_tracing_increment_counter(SENDS);
        }
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        roth_tracing_stop_repetition();
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "sizes";
    MPI_Init(&argc, &argv);
    if (strcmp(what, "sizes") == 0) sizes();
    if (strcmp(what, "nonblocking") == 0) nonblocking();
    if (strcmp(what, "steps") == 0) steps();
    if (strcmp(what, "pause") == 0)
        for (int i = 0; i < 50; i++) {
            usleep(10000);
            one(0, 8);
        }
    MPI_Finalize();
    return 0;
}
