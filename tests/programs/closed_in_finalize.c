/* closed_in_finalize FILE CALLS: makes so many calls, closes every descriptor in MPI_Finalize, in a delete callback of
 * MPI_COMM_SELF, and opens files of its own there, which get the numbers. What became of them until MPI_Finalize had
 * returned goes to FILE: one that the library closed is closed without the tracer too. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 40 };
static const char *name, text[] = "0123456789";
static int files[FILES];
static struct stat made[FILES];

static int gone(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    for (int file = 3; file < 65536; file++) close(file);
    for (int i = 0; i < FILES; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s.%d", name, i);
        files[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (files[i] < 0 || write(files[i], text, 10) != 10 || fstat(files[i], &made[i])) _exit(4);
    }
    return MPI_SUCCESS;
}

static const char *state(int i)
{
    struct stat found;
    char read[64];
    if (fstat(files[i], &found)) return "closed";
    if (found.st_ino != made[i].st_ino || found.st_dev != made[i].st_dev) return "replaced";
    if (found.st_size != 10 || lseek(files[i], 0, SEEK_CUR) != 10) return "changed";
    return pread(files[i], read, sizeof read, 0) == 10 && !memcmp(read, text, 10) ? "whole" : "overwritten";
}

int main(int argc, char **argv)
{
    int key, value = 1, sum;
    if (argc < 3) return 2;
    name = argv[1];
    MPI_Init(&argc, &argv);
    for (int i = 0; i < atoi(argv[2]); i++) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, gone, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Finalize();
    FILE *result = fopen(name, "w");
    if (!result) return 3;
    for (int i = 0; i < FILES; i++) {
        char path[4096];
        struct stat found;
        snprintf(path, sizeof path, "%s.%d", name, i);
        long size = stat(path, &found) ? -1 : (long)found.st_size;
        fprintf(result, "%d as %d: %s, %ld bytes\n", i, files[i], state(i), size);
    }
    return fclose(result) != 0;
}
