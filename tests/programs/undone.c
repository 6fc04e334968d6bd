/* undone HOW: a program of two ranks that ends by itself.
 *   call      rank 0 leaves out a Reduce to it, for which rank 1 need not wait
 *   request   no rank completes its Ibarrier
 *   types     rank 1 reduces floats where rank 0 reduces integers
 *   middle    rank 1 leaves out one of many broadcasts
 *   kept      a communicator is never freed
 *   legal     all calls are made: recording is paused on one rank, not all ranks free a communicator, some ranks make a communicator of their own, requests are completed in all ways */
#include "report.h"

static int in = 1, out;
static float real_in = 1, real_out;

static void complete_in_all_ways(void)
{
    MPI_Request requests[4];
    int index, flag = 0, count, indices[4];
    for (int k = 0; k < 4; k++) MPI_Ibarrier(MPI_COMM_WORLD, &requests[k]);
    while (!flag) MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Waitany(1, &requests[1], &index, MPI_STATUS_IGNORE);
    MPI_Waitsome(1, &requests[2], &count, indices, MPI_STATUSES_IGNORE);
    for (flag = 0; !flag;) MPI_Testall(1, &requests[3], &flag, MPI_STATUSES_IGNORE);
}

static void legal(void)
{
    MPI_Comm dup, own = MPI_COMM_NULL;
    MPI_Group all, first;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    if (world_rank == 0) MPI_Pcontrol(0);
    for (int k = 0; k < 5; k++) MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, dup);
    if (world_rank == 0) MPI_Pcontrol(1);
    /* Names of one type. */
    MPI_Allreduce(&in, &out, 1, world_rank ? MPI_INT32_T : MPI_INT, MPI_SUM, dup);
    MPI_Bcast(&in, world_rank ? 4 : 1, world_rank ? MPI_BYTE : MPI_INT, 0, dup);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, (int[]){0}, &first);
    if (world_rank == 0) MPI_Comm_create_group(MPI_COMM_WORLD, first, 3, &own);
    if (world_rank == 0) MPI_Barrier(own);
    complete_in_all_ways();
    if (world_rank == 0) MPI_Comm_free(&dup);
}

/* Three places that broadcast in turn, each of which the compiler leaves one place. Rank 1 leaves out the second one
 * once. */
#define PLACE __attribute__((noinline, noclone)) static void

PLACE first(void)
{
    MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    in++;
}

PLACE second(void)
{
    MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    in += 2;
}

PLACE third(void)
{
    MPI_Bcast(&in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    in += 3;
}

static void middle(void)
{
    for (int k = 0; k < 10; k++) {
        first();
        if (world_rank == 0 || k != 5) second();
        third();
    }
}

static void kept(void)
{
    MPI_Comm dup, freed;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    MPI_Comm_free(&freed);
    MPI_Barrier(dup);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "legal";
    MPI_Request request;
    MPI_Init(&argc, &argv);
    world();
    for (int k = 0; k < 3; k++) MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "call") && world_rank == 1)
        MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "request")) MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (!strcmp(how, "types") && world_rank == 0)
        MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "types") && world_rank == 1)
        MPI_Reduce(&real_in, &real_out, 1, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "middle")) middle();
    if (!strcmp(how, "kept")) kept();
    if (!strcmp(how, "legal")) legal();
    MPI_Finalize();
    return 0;
}
