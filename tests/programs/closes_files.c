/* Closes every descriptor of a regular file that it did not open, as programs do that close all of them, and puts a file
 * of its own in each one's place; then makes as many calls as take fresh memory. Its own file stays as long as it made
 * it. */
#define _GNU_SOURCE
#include "report.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct stat found;
    char name[64];
    int mine, replaced = 0, value = 1, sum = 0;
    MPI_Init(&argc, &argv);
    world();
    snprintf(name, sizeof name, "mine.%d", world_rank);
    mine = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (mine < 0 || write(mine, "mine", 4) != 4) MPI_Abort(MPI_COMM_WORLD, 3);
    for (int file = 3; file < 65536; file++) {
        if (file == mine || fstat(file, &found) || !S_ISREG(found.st_mode)) continue;
        if (dup2(mine, file) == file) replaced++;
    }
    for (int i = 0; i < 40000; i++) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    MPI_Barrier(MPI_COMM_WORLD);
    fstat(mine, &found);
    /* How many there were differs with the library, and with the tracer. */
    fprintf(stderr, "replaced: %s\n", replaced ? "some" : "none");
    report("%d bytes, sum %d", (int)found.st_size, sum);
    MPI_Finalize();
    return 0;
}
