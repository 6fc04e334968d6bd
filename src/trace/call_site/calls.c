/* Calls whose return addresses tests resolve. Prints a line for each: NAME OFFSET, the latter hexadecimal, less what the loader
 * added. The comments behind the calls are what the tests find their lines by. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uintptr_t added;

/* The program is the first that the loader lists. */
static int first(struct dl_phdr_info *info, size_t size, void *data)
{
    (void) size, (void) data;
    added = info->dlpi_addr;
    return 1;
}

__attribute__((noinline)) void traced(const char *name)
{
    printf("%s %lx\n", name, (unsigned long) ((uintptr_t) __builtin_return_address(0) - added));
}

static inline __attribute__((always_inline)) void innermost(const char *name)
{
    traced(name); /* innermost */
    printf("-\n");
}

static inline __attribute__((always_inline)) void middle(const char *name)
{
    innermost(name); /* middle */
}

__attribute__((noinline)) void plain(void)
{
    traced("plain"); /* plain */
    printf("-\n");
}

__attribute__((noinline, noreturn)) void traced_at_last(const char *name)
{
    printf("%s %lx\n", name, (unsigned long) ((uintptr_t) __builtin_return_address(0) - added));
    exit(0);
}

/* The call is this function's last instruction: what it would return to belongs to another function. */
__attribute__((noinline, noreturn)) void last(void)
{
    traced_at_last("last"); /* last */
}

__attribute__((noinline)) void cxx(void) __asm__("_ZN4halo8exchangeEiPd");
void cxx(void)
{
    traced("cxx"); /* cxx */
    printf("-\n");
}

/* For a linker that drops what nobody calls. */
void never_called(void)
{
    traced("never");
    printf("-\n");
}

int main(void)
{
    dl_iterate_phdr(first, NULL);
    plain();
    middle("inlined"); /* outermost */
    cxx();
    last();
}
