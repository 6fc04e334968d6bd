/* broadcasts N BYTES: N times BYTES from rank 0 to all, which check them. */
#include "report.h"

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 10, bytes = argc > 2 ? atoi(argv[2]) : 8;
    char *message = malloc(bytes);
    long long total = 0;
    MPI_Init(&argc, &argv);
    world();
    for (int i = 0; i < n; i++) {
        memset(message, world_rank == 0 ? i : -1, bytes);
        MPI_Bcast(message, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        total += message[0] + message[bytes - 1];
    }
    report("%lld", total);
    free(message);
    MPI_Finalize();
    return 0;
}
