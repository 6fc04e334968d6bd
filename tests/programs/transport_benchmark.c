/* A benchmark of MPI_Allreduce, 1000 B, whose operator sends by transport.c. Each repetition is one of roth_tracing.h,
 * which does nothing without the tracer. `transport_benchmark touched` opens the transport with its pages in place. */
#include "roth_tracing.h"
#include "transport.h"

#include <mpi.h>
#include <string.h>

enum { REPETITIONS = 1000, COUNT = 125 };

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    transport_send(in);
    transport_send(inout);
    for (int i = 0; i < *count; i++) ((double *)inout)[i] += ((double *)in)[i];
}

int main(int argc, char **argv)
{
    static double in[COUNT], out[COUNT];
    MPI_Op operator;
    MPI_Init(&argc, &argv);
    transport_open(argc > 1 && strcmp(argv[1], "touched") == 0);
    MPI_Op_create(add, 1, &operator);
    for (int i = 0; i < REPETITIONS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        roth_tracing_start_repetition(i);
        MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, operator, MPI_COMM_WORLD);
        roth_tracing_stop_repetition();
    }
    MPI_Op_free(&operator);
    MPI_Finalize();
    return 0;
}
