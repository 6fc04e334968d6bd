/* fills CALLS RANK [WHAT NUMBER]: so many Allreduces on MPI_COMM_SELF, which wait for no other rank: on rank RANK, or
 * on all if it is -1. Then one on MPI_COMM_WORLD. Behind MPI_Init, WHAT is done first:
 *   fsize   the process may not make a file of more bytes from now on: the MPI library may need larger ones before
 *   memory  so many bytes are allocated, which is reported
 *   space   nothing; the address space in use goes to stderr, bytes
 *   death   rank NUMBER ends by SIGKILL when all its calls have returned
 *   abort, exit, return, segv   so does that rank end, with code 7 where it has one; the others wait for it */
#include "report.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static unsigned long address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 1000, rank = argc > 2 ? atoi(argv[2]) : -1;
    const char *what = argc > 4 ? argv[3] : "";
    unsigned long number = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    double in, out = 0, sum = 0;
    char *memory = NULL;
    MPI_Init(&argc, &argv);
    world();
    if (!strcmp(what, "fsize")) {
        struct rlimit limit = {number, RLIM_INFINITY};
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    if (!strcmp(what, "memory")) memory = malloc(number);
    if (!strcmp(what, "space") && world_rank == 0) fprintf(stderr, "space %lu\n", address_space());
    for (int i = 0; i < calls && (rank < 0 || rank == world_rank); i++) {
        in = i;
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
        sum += out;
    }
    MPI_Allreduce(&sum, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(what, "death") && world_rank == (int)number) kill(getpid(), SIGKILL);
    if (!strcmp(what, "abort") || !strcmp(what, "exit") || !strcmp(what, "return") || !strcmp(what, "segv")) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank != (int)number) MPI_Barrier(MPI_COMM_WORLD);
        if (!strcmp(what, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
        if (!strcmp(what, "exit")) exit(7);
        if (!strcmp(what, "return")) return 7;
        *(volatile int *)8 = 1;
    }
    report("%.17g %.17g, %s", sum, out, memory ? "with memory" : "without");
    free(memory);
    MPI_Finalize();
    return 0;
}
