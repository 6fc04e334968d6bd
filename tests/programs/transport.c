/* A small library below MPI's operators, in place of PSM2 in Roth's thesis (section 4.6.3): messages go through the
 * slots of a ring, and each slot is checked before it is filled. Its pages are touched for the first time in the first 60
 * repetitions of transport_benchmark.c, or when it is opened.
 *
 * With -DINSTRUMENTED both steps are timed by include/roth_tracing.h: this is what is added to a library. */
#define _DEFAULT_SOURCE
#include "transport.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef INSTRUMENTED
#include "roth_tracing.h"
enum { SENDS, COUNTERS };
enum { CHECK_TIME, PACK_TIME, TIMERS };
static const char *const counters[] = {"SENDS"}, *const timers[] = {"CHECK_TIME", "PACK_TIME"};
#else
#define init_tracer(repetitions, counters, number_of_counters, timers, number_of_timers)
#define roth_tracing_start_timer(timer)
#define roth_tracing_stop_timer(timer)
#define roth_tracing_increment_counter(counter)
#endif

enum { SLOTS = 120, SLOT_BYTES = 8 * 4096, REPETITIONS = 1000 };

static char *ring;

void transport_open(int is_touched)
{
    size_t size = (size_t)SLOTS * SLOT_BYTES;
    ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED) abort();
    madvise(ring, size, MADV_NOHUGEPAGE); /* else the first touch of a slot brings the pages of the next ones */
    if (is_touched) memset(ring, 0, size);
    init_tracer(REPETITIONS, counters, COUNTERS, timers, TIMERS);
}

void transport_send(const void *message)
{
    static unsigned next;
    volatile char *slot = ring + (size_t)(next++ % SLOTS) * SLOT_BYTES;
    roth_tracing_start_timer(CHECK_TIME);
    char is_free = slot[0] == 0;
    roth_tracing_stop_timer(CHECK_TIME);
    roth_tracing_start_timer(PACK_TIME);
    for (int page = 0; page < SLOT_BYTES; page += 4096) slot[page + 8] = (char)(is_free + *(const char *)message);
    roth_tracing_stop_timer(PACK_TIME);
    roth_tracing_increment_counter(SENDS);
}
