/* A tool that counts reductions, and asks a handle of the MPI library for the functions that it forwards to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int reductions;

/* No tool has this name, so that it is the library's. */
static void *of_library(const char *name)
{
    Dl_info info;
    void *known = dlsym(RTLD_NEXT, "PMPI_Comm_get_name");
    void *library = known && dladdr(known, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) abort();
    return function;
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    typedef int reduction(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    reductions++;
    return ((reduction *)of_library("MPI_Allreduce"))(in, out, count, type, op, comm);
}

int MPI_Finalize(void)
{
    printf("the tool saw %d\n", reductions);
    fflush(stdout);
    return ((int (*)(void))of_library("MPI_Finalize"))();
}
