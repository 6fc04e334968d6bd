/* A time stamp of the processor's counter, in order with what comes before it. */
#ifndef STAMP_H
#define STAMP_H

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static inline uint64_t stamp(void)
{
#if defined(__x86_64__)
    unsigned processor;
    return __rdtscp(&processor);
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
#endif
}

#endif
