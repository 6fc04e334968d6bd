/* Messages of 2^31 bytes and more on MPI_COMM_SELF, for which no library moves anything: of derived types, and where
 * there are functions for large counts by those. */
#define _GNU_SOURCE
#include "report.h"

#include <sys/mman.h>

int main(int argc, char **argv)
{
    /* Address space alone: none of it is touched. */
    size_t room = (size_t)9 << 30;
    char *buffer = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MPI_Datatype page, gib;
    int plain = 0, large = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    world();
    CHECK(buffer != MAP_FAILED);
    MPI_Type_contiguous(4096, MPI_CHAR, &page);
    MPI_Type_commit(&page);
    MPI_Type_contiguous(1 << 30, MPI_CHAR, &gib);
    MPI_Type_commit(&gib);
    for (int i = 0; i < 3; i++) plain += MPI_Bcast(buffer, 1 << 20, page, 0, MPI_COMM_SELF) == MPI_SUCCESS;
    for (int i = 0; i < 4; i++) plain += MPI_Bcast(buffer, 8, gib, 0, MPI_COMM_SELF) == MPI_SUCCESS;
    /* The largest of all counts. */
    plain += MPI_Bcast(buffer, 2147483647, MPI_CHAR, 0, MPI_COMM_SELF) == MPI_SUCCESS;
    MPI_Ibcast(buffer, 6, gib, 0, MPI_COMM_SELF, &request);
    plain += MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
#if MPI_VERSION >= 4
    MPI_Count counts[1] = {((MPI_Count)1 << 32) + 24};
    MPI_Aint displacements[1] = {0};
    for (int i = 0; i < 5; i++)
        large += MPI_Bcast_c(buffer, ((MPI_Count)1 << 31) + 8, MPI_CHAR, 0, MPI_COMM_SELF) == MPI_SUCCESS;
    large += MPI_Allreduce_c(MPI_IN_PLACE, buffer, (MPI_Count)1 << 30, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF) == 0;
    large += MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_CHAR, buffer, counts, displacements, MPI_CHAR, MPI_COMM_SELF) == 0;
    MPI_Ibcast_c(buffer, ((MPI_Count)1 << 33) + 1, MPI_CHAR, 0, MPI_COMM_SELF, &request);
    large += MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
#endif
    report("%d with plain counts, %d with large ones", plain, large);
    MPI_Type_free(&page);
    MPI_Type_free(&gib);
    MPI_Finalize();
    return 0;
}
