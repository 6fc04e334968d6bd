/* A library that ends the process which loads it, as an MPI library for another machine may do. */
#include <stdlib.h>

__attribute__((constructor)) static void crash(void)
{
    abort();
}
