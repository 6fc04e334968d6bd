/* by_handle PLUGIN SCOPE: a program without MPI looks functions of MPI up by the handle of a library that it opens, for
 * itself alone (local) or for all (global). It prints all that dlsym and dlerror give which is to be the same with a
 * tracer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void *handle;

static void *found(const char *name)
{
    dlsym(handle, "no_such_name"); /* Its error is gone behind a call that finds something. */
    void *function = dlsym(handle, name);
    const char *error = dlerror();
    if (!function || error) printf("%s: %s\n", name, error ? error : "null");
    if (dlsym(handle, name) != function) printf("%s: another address\n", name);
    return function;
}

static void missing(void *of, const char *name)
{
    dlerror();
    void *function = dlsym(of, name);
    const char *error = dlerror();
    printf("%s: %s, %s\n", name, function ? "found" : "null", error && strstr(error, name) ? "said" : error ? error : "silent");
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    handle = dlopen(argv[1], RTLD_NOW | (strcmp(argv[2], "global") ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!handle) return puts(dlerror()), 2;
    void *(*constant)(char) = (void *(*)(char))found("constant");
    void *world = constant('w');
    int (*init)(int *, char ***) = (int (*)(int *, char ***))found("MPI_Init");
    int (*barrier)(void *) = (int (*)(void *))found("MPI_Barrier");
    int (*rank_of)(void *, int *) = (int (*)(void *, int *))found("PMPI_Comm_rank");
    int (*sum_up)(const void *, void *, int, void *, void *, void *) =
        (int (*)(const void *, void *, int, void *, void *, void *))found("PMPI_Allreduce");
    int (*finalize)(void) = (int (*)(void))found("MPI_Finalize");
    int rank, sum = 0;
    if (init(&argc, &argv)) return 3;
    rank_of(world, &rank);
    for (int k = 0; k < 50; k++) {
        errno = 77;
        dlsym(handle, "another_name");
        if (barrier(world) || errno != 77) return 4;
        const char *error = dlerror();
        if (k > 2 && !(error && strstr(error, "another_name"))) return 5;
    }
    for (int k = 0; k < 5; k++) sum_up(&k, &sum, 1, constant('i'), constant('s'), world);
    if (rank == 0) {
        missing(handle, "MPI_No_such_function");
        missing(handle, "MPI_");
        missing(handle, "M");
        missing(handle, "P");
        missing(handle, "");
        missing(RTLD_DEFAULT, "PMPI_No_such_function");
        missing(RTLD_NEXT, "MPI_No_such_function");
        missing(RTLD_NEXT, "main");
        printf("strlen %d %d\n", dlsym(RTLD_NEXT, "strlen") != 0, dlsym(RTLD_DEFAULT, "strlen") == dlsym(RTLD_NEXT, "strlen"));
    }
    printf("ok %d\n", sum);
    fflush(stdout);
    if (finalize()) return 6;
    return dlclose(handle);
}
