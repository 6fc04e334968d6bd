/* Preloaded: says which processes may trace this one, as it is set. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>

int prctl(int option, ...) {
    unsigned long values[4];
    va_list list;
    va_start(list, option);
    for (int index = 0; index < 4; index++) {
        values[index] = va_arg(list, unsigned long);
    }
    va_end(list);
    if (option == PR_SET_PTRACER) {
        fprintf(stderr, "PR_SET_PTRACER %ld\n", (long)values[0]);
    }
    int (*forward)(int, ...) = (int (*)(int, ...))dlsym(RTLD_NEXT, "prctl");
    return forward(option, values[0], values[1], values[2], values[3]);
}
