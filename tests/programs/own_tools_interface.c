/* own_tools_interface [first]: the program uses the tools interface (MPI_T) of the library itself, with `first` from before
 * MPI_Init on. It prints all that the calls return: `provided`, also where the library leaves it as it is in a nested call,
 * the thread level in force behind each, and what a call too many returns. */
#include "report.h"

static void print(const char *what, int result, int provided)
{
    int level = -1, started = 0;
    MPI_Initialized(&started);
    if (started) MPI_Query_thread(&level);
    printf("rank %d %s: %d provided %d level %d\n", world_rank, what, result, provided, level);
}

static void begin(const char *what, int required)
{
    int provided = -5, result = MPI_T_init_thread(required, &provided);
    print(what, result, provided);
}

static void end(const char *what)
{
    int result = MPI_T_finalize();
    print(what, result, -5);
}

int main(int argc, char **argv)
{
    int provided, value = 1, sum, first = argc > 1;
    MPI_T_pvar_session session;
    if (first) begin("before MPI_Init", MPI_THREAD_SINGLE);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    world();
    print("MPI_Init_thread", 0, provided);
    for (int level = MPI_THREAD_SINGLE; level <= MPI_THREAD_MULTIPLE; level++) {
        begin("first", level);
        begin("nested", MPI_THREAD_FUNNELED);
        print("session", MPI_T_pvar_session_create(&session) || MPI_T_pvar_session_free(&session), 0);
        for (int k = 0; k < 3; k++) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        end("nested");
        end("last");
    }
    if (first) end("that of before MPI_Init");
#ifdef OPEN_MPI
    /* MPICH 5 takes it, and fails in MPI_Finalize. */
    end("one too many");
#endif
    begin("again", MPI_THREAD_FUNNELED);
    MPI_Barrier(MPI_COMM_WORLD);
    end("again");
    MPI_Finalize();
    return 0;
}
