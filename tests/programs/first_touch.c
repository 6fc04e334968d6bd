/* Before each of 60 calls rank 1 touches 2000 fresh pages, the others 20. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    int rank, one = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 60; i++) {
        size_t length = (rank == 1 ? 2000 : 20) * 4096UL;
        char *pages = mmap(0, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) return 1;
        madvise(pages, length, MADV_NOHUGEPAGE);
        for (size_t at = 0; at < length; at += 4096) pages[at] = 1;
        munmap(pages, length);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
