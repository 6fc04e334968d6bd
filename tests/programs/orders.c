/* orders HOW: communicators of MPI_Comm_idup that the ranks use for the first time in different orders, which
 * non-blocking collectives allow. On each one another function is called: if a trace mixes them up, functions meet on
 * one communicator.
 *   kept    three, in variables that last
 *   gone    three, in variables that are gone when they are used
 *   parent  one, of which another is made: on rank 0 after its first use, on the others before
 *   named   one that gets a name before its first use */
#include "checksum.h"

static int one = 1, sums[4];

/* The handle leaves through the result: the variable that MPI_Comm_idup was given is gone afterwards. */
static MPI_Comm idup(MPI_Comm comm)
{
    MPI_Comm new;
    MPI_Request q;
    MPI_Comm_idup(comm, &new, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    return new;
}

static void start(MPI_Comm comm, int which, MPI_Request *q)
{
    if (which == 0) MPI_Ibarrier(comm, q);
    else if (which == 1) MPI_Iallreduce(&one, &sums[1], 1, MPI_INT, MPI_SUM, comm, q);
    else MPI_Ibcast(&one, 1, MPI_INT, 0, comm, q);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    const char *what = argc > 1 ? argv[1] : "kept";
    MPI_Comm comms[3];
    MPI_Request q[3];
    if (!strcmp(what, "named")) {
        comms[0] = idup(MPI_COMM_WORLD);
        MPI_Comm_set_name(comms[0], "named before its use");
        MPI_Barrier(comms[0]);
        MPI_Comm_free(&comms[0]);
    } else if (!strcmp(what, "parent")) {
        MPI_Comm parent = idup(MPI_COMM_WORLD);
        MPI_Group group;
        MPI_Comm_group(parent, &group);
        if (world_rank == 0) start(parent, 0, &q[0]);
        MPI_Comm_create_group(parent, group, 1, &comms[0]);
        if (world_rank != 0) start(parent, 0, &q[0]);
        MPI_Wait(&q[0], MPI_STATUS_IGNORE);
        MPI_Allreduce(&one, &sums[0], 1, MPI_INT, MPI_SUM, comms[0]);
        MPI_Group_free(&group);
        MPI_Comm_free(&comms[0]);
        MPI_Comm_free(&parent);
    } else {
        for (int i = 0; i < 3; i++) {
            if (!strcmp(what, "kept")) MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &q[i]);
            else comms[i] = idup(MPI_COMM_WORLD);
        }
        if (!strcmp(what, "kept")) MPI_Waitall(3, q, statuses_ignored());
        for (int i = 0; i < 3; i++) {
            int which = (i + world_rank) % 3;
            start(comms[which], which, &q[i]);
        }
        MPI_Waitall(3, q, statuses_ignored());
        for (int i = 0; i < 3; i++) MPI_Comm_free(&comms[i]);
    }
    report("%s", what);
    MPI_Finalize();
    return 0;
}
