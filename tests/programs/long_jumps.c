/* Calls that an error handler leaves by longjmp, to where the program goes on with good calls. */
#include "report.h"

#include <setjmp.h>

static jmp_buf back;

static void jumping(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(back, 1);
}

/* From deeper in the stack than the good calls. */
__attribute__((noinline)) static void refused(int root)
{
    volatile char room[512];
    int value = 7;
    room[0] = 1;
    MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
    room[1] = room[0];
}

int main(int argc, char **argv)
{
    static volatile int left, good;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm_create_errhandler(jumping, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (volatile int i = 0; i < 5; i++) {
        double in = 1, out = 0;
        if (setjmp(back) == 0) refused(99);
        else left = left + 1;
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        good = good + (out == world_size);
    }
    report("left %d, good %d", left, good);
    MPI_Finalize();
    return 0;
}
