/* "each N": in children, one for each of some N numbers, the memory that the tracer asks for with this number is not there;
 * in others all from this number on. Each initialises MPI, makes calls, and must end with 3: so this is for an MPI library that
 * lets a process do so. "from N", "limit BYTES": in one process the tracer's memory ends with request N, or the data of all
 * of it is limited after MPI_Init. count_mallocs.c is preloaded for all but the last. */
#define _GNU_SOURCE
#include "report.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpitrace.h"

unsigned long mpitrace_mallocs(void) __attribute__((weak));
void mpitrace_fail_mallocs(unsigned long first, unsigned long last) __attribute__((weak));

static void *on_a_thread(void *comm)
{
    double in = 1, out = 0;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, *(MPI_Comm *)comm);
    return NULL;
}

/* Calls of many kinds: operations, communicators and regions, more records than the arrays hold. */
static double calls(int rounds)
{
    static int region;
    double in[8] = {1, 2, 3, 4}, out[8] = {0};
    MPI_Request request;
    MPI_Comm comm;
    pthread_t thread;
    region = mpitrace_region("a region");
    for (int i = 0; i < rounds; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        mpitrace_region_begin(region);
        MPI_Allreduce(in, out, 1 + i % 8, MPI_DOUBLE, MPI_SUM, comm);
        MPI_Bcast(in, 1 + i % 4, MPI_DOUBLE, 0, comm);
        mpitrace_region_end(region);
        MPI_Ibarrier(comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (i % 8 == 0) {
            pthread_create(&thread, NULL, on_a_thread, &comm);
            pthread_join(thread, NULL);
        }
        MPI_Comm_free(&comm);
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
        for (int k = 0; k < 20; k++) MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
    return out[0];
}

/* In the heap, for the MPI library: blocks of 64 KiB that stay the process's when they are free. */
enum { ROOM = 16 };

/* Rank 0's is the job's: Open MPI kills the other ranks then. */
static int code(void) { return world_rank == 0 ? 3 : 0; }

static int run(int rounds)
{
    int provided;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    world();
    calls(rounds);
    MPI_Finalize();
    return code();
}

/* The live records of children whose recording has ended early. */
static void clear(const char *folder)
{
    char path[PATH_MAX];
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.') unlink(path);
    }
    if (entries) closedir(entries);
}

static unsigned long in_a_child(unsigned long first, unsigned long last)
{
    unsigned long *asked = mmap(NULL, sizeof *asked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        mpitrace_fail_mallocs(first, last);
        int code = run(40);
        *asked = mpitrace_mallocs();
        exit(code);
    }
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) printf("requests %lu to %lu: status %#x\n", first, last, status);
    unsigned long all = *asked;
    munmap(asked, sizeof *asked);
    return all;
}

int main(int argc, char **argv)
{
    unsigned long number = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (argc > 1 && strcmp(argv[1], "each") == 0) {
        const char *live = getenv("MPITRACE_SEGMENT_DIR");
        unsigned long all = in_a_child(1, 0), step = all / number + 1, children = 0;
        for (unsigned long first = 1; first <= all; first += step, children += 2) {
            in_a_child(first, first);
            in_a_child(first, ULONG_MAX);
            if (live) clear(live);
        }
        fprintf(stderr, "asked %lu children %lu\n", all, children);
        return 3;
    }
    if (argc > 1 && strcmp(argv[1], "from") == 0) {
        if (mpitrace_fail_mallocs) mpitrace_fail_mallocs(number, ULONG_MAX);
        return run(40);
    }
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    world();
    struct rlimit limit = {number, RLIM_INFINITY};
    void *room[ROOM];
    for (int i = 0; i < ROOM; i++) room[i] = malloc(64 << 10);
    void *behind_it = malloc(64);
    if (setrlimit(RLIMIT_DATA, &limit)) perror("setrlimit");
    for (int i = 0; i < ROOM; i++) free(room[i]);
    for (int i = 0; i < 3000; i++) {
        MPI_Comm comm;
        MPI_Request request;
        MPI_Barrier(MPI_COMM_WORLD);
        if (i % 1000) continue;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(behind_it);
    if (world_rank == 0) puts("ran");
    MPI_Finalize();
    if (world_rank == 0) puts("finalized");
    return code();
}
