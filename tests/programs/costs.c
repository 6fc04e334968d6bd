/* costs SUBJECT N: N times on one rank what is named. The instructions of that are counted.
 *   call      an Allreduce of one double
 *   message   a Sendrecv with the rank itself
 *   type      a vector type, made, committed and freed
 *   used      the same, broadcast in between
 *   operator  an operator, made, reduced by and freed
 *   region    a region of the program, begun and ended
 *   poll      a test of a receive that is not answered yet */
#include "mpitrace.h"
#include "report.h"

static void reduce(void *in, void *out, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int k = 0; k < *count; k++) ((double *)out)[k] += ((double *)in)[k];
}

int main(int argc, char **argv)
{
    double in[8] = {0}, out[8];
    const char *subject = argc > 1 ? argv[1] : "call";
    int n = argc > 2 ? atoi(argv[2]) : 10, region, found;
    MPI_Request request;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Init(&argc, &argv);
    world();
    region = mpitrace_region("region");
    MPI_Irecv(in, 1, MPI_DOUBLE, 0, 9, MPI_COMM_SELF, &request);
    for (int k = 0; k < n; k++)
        switch (subject[0]) {
        case 'c':
            MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
            break;
        case 'm':
            MPI_Sendrecv(in, 1, MPI_DOUBLE, 0, 0, out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
            break;
        case 't':
        case 'u':
            MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &type);
            MPI_Type_commit(&type);
            if (subject[0] == 'u') MPI_Bcast(in, 1, type, 0, MPI_COMM_SELF);
            MPI_Type_free(&type);
            break;
        case 'o':
            MPI_Op_create(reduce, 1, &op);
            MPI_Allreduce(in, out, 1, MPI_DOUBLE, op, MPI_COMM_SELF);
            MPI_Op_free(&op);
            break;
        case 'p':
            MPI_Test(&request, &found, MPI_STATUS_IGNORE);
            break;
        default:
            mpitrace_region_begin(region);
            mpitrace_region_end(region);
        }
    MPI_Send(out, 1, MPI_DOUBLE, 0, 9, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
