// Particles gather on rank 0, by a virtual call each, and neighbours exchange messages: `particles 1`; with `particles 0`
// both ranks have as many.
#include <mpi.h>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

struct Particle {
    double x = 0, v = 1;
    virtual ~Particle() = default;
    virtual void push(double field) = 0;
};

struct Electron : Particle {
    void push(double field) override;
};

void Electron::push(double field)
{
    for (int k = 0; k < 12; k++) v += 1e-3 * std::sin(x + field) - 1e-4 * v; // late
    x += v;
}

static __attribute__((noinline)) void push_all(std::vector<std::unique_ptr<Particle>> &particles, double field)
{
    for (auto &particle : particles) particle->push(field); // late
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bool is_uneven = argc > 1 && std::atoi(argv[1]) == 1;
    std::vector<std::unique_ptr<Particle>> particles;
    for (int k = 0; k < (is_uneven && rank == 0 ? 200000 : 60000); k++) particles.push_back(std::make_unique<Electron>());
    double field = 0, from = 0;
    for (int step = 0; step < 150; step++) {
        push_all(particles, field);
        MPI_Sendrecv(&field, 1, MPI_DOUBLE, (rank + 1) % size, 1, &from, 1, MPI_DOUBLE, (rank + size - 1) % size, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        field = 0.5 * from + 1e-3 * particles[0]->x;
    }
    MPI_Finalize();
    return 0;
}
