/* slow_finalize: each rank is off its processor for 100 ms when the tracer begins its work in MPI_Finalize: it sleeps
 * in the tracer's first getrlimit there, which is the program's. */
#define _GNU_SOURCE
#include "report.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_next;

#undef getrlimit
#undef getrlimit64
__attribute__((visibility("default"))) int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    if (__atomic_exchange_n(&is_next, 0, __ATOMIC_RELAXED)) usleep(100000);
    return syscall(SYS_prlimit64, 0, resource, NULL, limit);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_WORLD);
    is_next = 1;
    MPI_Finalize();
    return 0;
}
