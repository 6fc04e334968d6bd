/* Collectives whose algorithm the environment forces, or that a sweep over message sizes lets the library choose.
 *
 *   algorithms forced REPETITIONS   each collective of Open MPI's tuned component, some sizes; rank 0 prints which ones
 *                                   return an error
 *   algorithms sweep SIZE...        MPI_Allreduce and MPI_Bcast of so many bytes
 *   algorithms switch REPETITIONS   MPI_Allreduce with an operator that commutes, then as often with one that does not */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };
static int rank, size;
static double *in, *out;
static int counts[64], places[64];

static void said(const char *function, int error) {
    if (error != MPI_SUCCESS && rank == 0)
        printf("refused %s\n", function);
}

static void forced(int repetitions, int count) {
    MPI_Comm all = MPI_COMM_WORLD;
    for (int i = 0; i < size; i++) {
        counts[i] = count;
        places[i] = i * count;
    }
    for (int i = 0; i < repetitions; i++) {
        said("MPI_Allgather", MPI_Allgather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, all));
        said("MPI_Allgatherv", MPI_Allgatherv(in, count, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, all));
        said("MPI_Allreduce", MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, all));
        said("MPI_Alltoall", MPI_Alltoall(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, all));
        said("MPI_Alltoallv",
             MPI_Alltoallv(in, counts, places, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, all));
        said("MPI_Barrier", MPI_Barrier(all));
        said("MPI_Bcast", MPI_Bcast(out, count, MPI_DOUBLE, 0, all));
        said("MPI_Exscan", MPI_Exscan(in, out, count, MPI_DOUBLE, MPI_SUM, all));
        said("MPI_Gather", MPI_Gather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, 0, all));
        said("MPI_Reduce", MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, 0, all));
        said("MPI_Reduce_scatter", MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, all));
        said("MPI_Reduce_scatter_block", MPI_Reduce_scatter_block(in, out, count, MPI_DOUBLE, MPI_SUM, all));
        said("MPI_Scan", MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, all));
        said("MPI_Scatter", MPI_Scatter(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, 0, all));
    }
}

/* The product of matrices [[a, b], [0, 1]]. */
static void affine(void *from, void *to, int *count, MPI_Datatype *type) {
    double *a = from, *b = to;
    (void)type;
    for (int i = 0; i + 1 < *count; i += 2) {
        b[i + 1] = a[i] * b[i + 1] + a[i + 1];
        b[i] = a[i] * b[i];
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    in = calloc(1 << 18, sizeof *in);
    out = calloc(1 << 18, sizeof *out);
    if (argc > 2 && !strcmp(argv[1], "forced")) {
        forced(atoi(argv[2]), 1);
        forced(atoi(argv[2]), MOST);
    } else if (argc > 2 && !strcmp(argv[1], "sweep")) {
        for (int i = 2; i < argc; i++) {
            int bytes = atoi(argv[i]);
            MPI_Allreduce(in, out, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
            MPI_Bcast(out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        }
    } else if (argc > 2 && !strcmp(argv[1], "switch")) {
        MPI_Comm made;
        MPI_Op either[2];
        MPI_Op_create(affine, 1, &either[0]);
        MPI_Op_create(affine, 0, &either[1]);
        for (int which = 0; which < 2; which++) {
            for (int i = 0; i < atoi(argv[2]); i++)
                MPI_Allreduce(in, out, MOST, MPI_DOUBLE, either[which], MPI_COMM_WORLD);
            /* In it the library makes collectives of its own, which are no algorithms of the next call. */
            MPI_Comm_dup(MPI_COMM_WORLD, &made);
            MPI_Comm_free(&made);
        }
        MPI_Op_free(&either[0]);
        MPI_Op_free(&either[1]);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
