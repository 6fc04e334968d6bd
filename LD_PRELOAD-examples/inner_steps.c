/* A library of its own below an application: it hands out slots of a ring, as a transport does. Slots are checked, then taken; both steps
 * are timed. The first time round the slots lie in pages and cache lines that were not touched before: those repetitions take longer, and
 * the trace shows in which step. */
#include "mpitrace.h"
#include "inner_steps.h"

#include <stdlib.h>

#define SLOTS 64
#define SLOT_BYTES 4096

static volatile char *ring;
static unsigned tail;
static int check, take, slots;

void transport_open(void)
{
    ring = malloc((size_t)SLOTS * SLOT_BYTES);
    check = mpitrace_timer("check slot");
    take = mpitrace_timer("take slot");
    slots = mpitrace_counter("slots", "slots");
}

void transport_send(int messages)
{
    for (int i = 0; i < messages; i++, tail = (tail + 1) % SLOTS) {
        volatile char *slot = ring + (size_t)tail * SLOT_BYTES;
        mpitrace_timer_start(check);
        char is_free = slot[0];
        mpitrace_timer_stop(check);
        mpitrace_timer_start(take);
        for (int line = 0; line < SLOT_BYTES; line += 64) slot[line] = (char)(is_free + 1);
        mpitrace_timer_stop(take);
        mpitrace_add(slots, 1);
    }
}
