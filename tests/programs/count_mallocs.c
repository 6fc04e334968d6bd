/* Preloaded: hands memory out in place of the C library's functions, and counts what libmpitrace.so asks for, by the
 * address that a function returns to. mpitrace_mallocs() gives the number; after mpitrace_fail_mallocs(first, last) what
 * libmpitrace.so asks for with these numbers fails, counted from then on. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

/* The tracer's code in this process; asked for once by the program, outside of what allocates. */
static uintptr_t first, last;
static unsigned long counted, first_failing = 1, last_failing;

/* Whether it fails. */
static inline int count(void *from)
{
    uintptr_t place = (uintptr_t)from;
    if (place < first || last <= place) return 0;
    unsigned long number = __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
    return first_failing <= number && number <= last_failing;
}

static uintptr_t hexadecimal(const char **text)
{
    uintptr_t value = 0;
    for (;; (*text)++) {
        char digit = **text;
        if (digit >= '0' && digit <= '9') value = value * 16 + (uintptr_t)(digit - '0');
        else if (digit >= 'a' && digit <= 'f') value = value * 16 + (uintptr_t)(digit - 'a' + 10);
        else return value;
    }
}

/* Reads where it is mapped, without memory of malloc. */
__attribute__((constructor)) static void find(void)
{
    static char maps[1 << 18];
    ssize_t length = 0, got;
    int file = open("/proc/self/maps", O_RDONLY);
    while (file >= 0 && (got = read(file, maps + length, sizeof maps - 1 - length)) > 0) length += got;
    if (file >= 0) close(file);
    for (char *line = maps; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char *end = strchr(line, '\n'), *name = strstr(line, "libmpitrace.so");
        if (!name || (end && name > end)) continue;
        const char *at = line;
        uintptr_t from = hexadecimal(&at);
        at++;
        last = hexadecimal(&at);
        if (!first) first = from;
    }
}

/* What the tracer has asked for so far. */
unsigned long mpitrace_mallocs(void) { return __atomic_load_n(&counted, __ATOMIC_RELAXED); }

void mpitrace_fail_mallocs(unsigned long from, unsigned long to)
{
    counted = 0;
    last_failing = to;
    first_failing = from;
}

void *malloc(size_t bytes)
{
    if (count(__builtin_return_address(0))) return NULL;
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
    if (count(__builtin_return_address(0))) return NULL;
    return __libc_calloc(number, bytes);
}

void *realloc(void *old, size_t bytes)
{
    if (count(__builtin_return_address(0))) return NULL;
    return __libc_realloc(old, bytes);
}

void free(void *memory)
{
    if (memory) count(__builtin_return_address(0));
    __libc_free(memory);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (count(__builtin_return_address(0))) return NULL;
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **place, size_t alignment, size_t bytes)
{
    if (count(__builtin_return_address(0))) return 12;
    *place = __libc_memalign(alignment, bytes);
    return *place ? 0 : 12;
}
