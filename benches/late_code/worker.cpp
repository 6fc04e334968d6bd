// A hybrid program of MPI and threads: rank 0 gives its work to a thread, which compresses it, and waits for it in a join.
// `worker 1` has more of it on rank 0 than on others, `worker 0` as much.
#include <mpi.h>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

static std::vector<std::uint32_t> data(100000, 1);

__attribute__((noinline)) static void compress(int times)
{
    std::uint32_t last = 1;
    for (int again = 0; again < times; again++)
        for (auto &one : data) last = one = (one ^ last) * 2654435761u + 1; // late
}

int main(int argc, char **argv)
{
    int rank, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int times = argc > 1 && std::atoi(argv[1]) == 1 && rank == 0 ? 80 : 20;
    std::uint32_t sum = 0, all = 0;
    for (int step = 0; step < 150; step++) {
        std::thread worker(compress, times);
        worker.join(); // late: where the thread itself is not sampled
        sum += data[0];
        MPI_Allreduce(&sum, &all, 1, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
