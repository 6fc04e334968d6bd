/* MPI by sessions. The argument says in which order they and MPI_COMM_WORLD come:
 *   alone     two sessions one after the other, and never MPI_Init
 *   around    MPI_Init and MPI_Finalize within a session
 *   within    a session within MPI_Init and MPI_Finalize
 *   beyond    a session opened before MPI_Finalize and closed after it
 *   twice     two sessions at once
 *   unclosed  a session that is never closed
 * Ranks print their own results, each a line, as there may be no world to gather them by. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void session_calls(MPI_Session session, const char *tag, int times)
{
    MPI_Group group;
    MPI_Comm comm, part;
    int rank, ranks, sum = 0;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_set_name(comm, tag);
    for (int i = 0; i < times; i++) {
        int mine = rank + i, all;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm);
        sum += all;
    }
    MPI_Comm_split(comm, 0, -rank, &part);
    MPI_Barrier(part);
    MPI_Comm_free(&part);
    MPI_Comm_free(&comm);
    printf("%s: rank %d of %d: %d\n", tag, rank, ranks, sum);
    fflush(stdout);
}

static void world_calls(void)
{
    for (int i = 0; i < 3; i++) MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Session session, other;
    const char *order = argc > 1 ? argv[1] : "alone";
    if (!strcmp(order, "alone")) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        session_calls(session, "first", 10);
        session_calls(session, "first", 2);
        MPI_Session_finalize(&session);
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        session_calls(session, "second", 20);
        MPI_Session_finalize(&session);
    } else if (!strcmp(order, "around")) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        session_calls(session, "first", 10);
        MPI_Init(NULL, NULL);
        world_calls();
        MPI_Finalize();
        session_calls(session, "second", 20);
        MPI_Session_finalize(&session);
    } else if (!strcmp(order, "within")) {
        MPI_Init(NULL, NULL);
        world_calls();
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        session_calls(session, "first", 10);
        MPI_Session_finalize(&session);
        world_calls();
        MPI_Finalize();
    } else if (!strcmp(order, "beyond")) {
        MPI_Init(NULL, NULL);
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        world_calls();
        MPI_Finalize();
        session_calls(session, "first", 10);
        MPI_Session_finalize(&session);
    } else if (!strcmp(order, "twice")) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other);
        session_calls(session, "first", 10);
        session_calls(other, "second", 20);
        MPI_Session_finalize(&session);
        session_calls(other, "third", 30);
        MPI_Session_finalize(&other);
    } else if (!strcmp(order, "unclosed")) {
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
        session_calls(session, "first", 10);
    }
    return 0;
}
