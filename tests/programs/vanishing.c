/* vanishing FOLDER WHEN: works in a folder that is removed "before" MPI_Init or "after" it. */
#include "report.h"

#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char folder[4096];
    int value = 1, sum = 0;
    if (argc < 3) return 2;
    /* One for each process. */
    snprintf(folder, sizeof folder, "%s.%d", argv[1], (int)getpid());
    if (mkdir(folder, 0700) || chdir(folder)) return 3;
    if (!strcmp(argv[2], "before") && rmdir(folder)) return 4;
    MPI_Init(&argc, &argv);
    world();
    if (!strcmp(argv[2], "after") && rmdir(folder)) return 5;
    for (int i = 0; i < 10; i++) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    report("sum %d, %s", sum, getcwd(folder, sizeof folder) ? "a folder" : "no folder");
    MPI_Finalize();
    return 0;
}
