/* number_two FILE: for a process that was started without a standard error. Its own file gets that number, and stays as
 * long as the program makes it, whatever is said meanwhile. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct stat found;
    int one = 1, sum;
    if (argc < 2) return 2;
    int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file != 2 || write(file, "mine", 4) != 4) return 3;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 100; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (fstat(file, &found)) return 4;
    printf("%ld bytes\n", (long)found.st_size);
    return 0;
}
