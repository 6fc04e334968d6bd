/* short_lived ROUNDS LATER: ROUNDS times a duplicate of MPI_COMM_WORLD that is used for one MPI_Barrier and freed; then
 * one duplicate with LATER calls of MPI_Bcast. The resident memory that the rounds after the first added goes to
 * stderr, KiB. */
#include "report.h"

#include <unistd.h>

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &pages, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void round_of_one(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int value = 7;
    MPI_Init(&argc, &argv);
    world();
    CHECK(argc == 3);
    int rounds = atoi(argv[1]), later = atoi(argv[2]);
    round_of_one();
    long before = resident_kib();
    for (int i = 1; i < rounds; i++) round_of_one();
    if (world_rank == 0) fprintf(stderr, "grown %ld KiB\n", resident_kib() - before);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < later; i++) MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    MPI_Comm_free(&comm);
    report("%d rounds, %d", rounds, value);
    MPI_Finalize();
    return 0;
}
