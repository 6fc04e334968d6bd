// The last rank has most keys, and puts them into a map of its own: memory from the heap, in code of the standard library.
// `index 1` has it; with `index 0` all ranks have as few.
#include <mpi.h>
#include <cstdlib>
#include <map>
#include <string>

namespace store {

struct Index {
    std::map<std::string, long> places;

    __attribute__((noinline)) void insert(int keys, int step)
    {
        for (int k = 0; k < keys; k++) places[std::to_string((k * 7919L + step) % 100000)] += k; // late
    }
};

} // namespace store

static __attribute__((noinline)) double sum_of(double from)
{
    double sum = 0;
    for (int k = 1; k < 1500000; k++) sum += 1 / (from + k);
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bool is_uneven = argc > 1 && std::atoi(argv[1]) == 1 && rank == size - 1;
    store::Index index;
    double sum = 0, all = 0;
    for (int step = 0; step < 150; step++) {
        index.insert(is_uneven ? 30000 : 1000, step);
        sum += sum_of(step);
        MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
