/* A tool below that prints what MPI_Pcontrol was given. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

int MPI_Pcontrol(const int level, ...)
{
    va_list more;
    va_start(more, level);
    const char *name = va_arg(more, const char *);
    int number = va_arg(more, int);
    void *address = va_arg(more, void *);
    long last = va_arg(more, long);
    va_end(more);
    printf("pcontrol %d %s %d %p %ld\n", level, name, number, address, last);
    return MPI_SUCCESS;
}
