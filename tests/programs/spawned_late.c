/* Two ranks spawn a third one, which computes for 0.1 s before each call on the intercommunicator and on the
 * communicator that both worlds are merged into. */
#include <mpi.h>
#include <stdio.h>

static void work(double seconds)
{
    double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) {
    }
}

int main(int argc, char **argv)
{
    MPI_Comm parent, other, merged;
    int rank, one = 1, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    other = parent;
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &merged);
    for (int i = 0; i < 10; i++) {
        if (parent != MPI_COMM_NULL) work(0.1);
        MPI_Barrier(other);
        if (parent != MPI_COMM_NULL) work(0.1);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged);
    }
    if (rank == 0 && parent == MPI_COMM_NULL) printf("%d ranks\n", sum);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&other);
    MPI_Finalize();
    return 0;
}
