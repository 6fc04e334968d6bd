/* A message that is too long for its receive fails in the same call that finds a collective complete, in every way that
 * completes several; then a good collective, so that whatever was made of the first is seen. */
#include "checksum.h"

enum { WAITALL, WAITANY, WAITSOME, TESTALL, TESTANY, TESTSOME, WAYS };

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world();
    MPI_Comm comm = named("collectives"), messages = named("messages");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(messages, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int way = 0; way < WAYS; way++) {
        int sent[2] = {1, 2}, got[2] = {0, 0}, index, some, indices[3], flag, seen[20] = {0}, one = 1, sum;
        MPI_Request q[3], last;
        MPI_Status statuses[3], status;
        MPI_Irecv(got, 1, MPI_INT, (world_rank + 1) % world_size, 1, messages, &q[0]);
        MPI_Ibarrier(comm, &q[1]);
        MPI_Isend(sent, 2, MPI_INT, (world_rank + world_size - 1) % world_size, 1, messages, &q[2]);
        while (q[0] != MPI_REQUEST_NULL || q[1] != MPI_REQUEST_NULL || q[2] != MPI_REQUEST_NULL) {
            int error = MPI_SUCCESS;
            for (int i = 0; i < 3; i++) statuses[i].MPI_ERROR = MPI_SUCCESS;
            some = 0;
            switch (way) {
            case WAITALL: error = MPI_Waitall(3, q, statuses); break;
            case WAITANY: error = MPI_Waitany(3, q, &index, &status); break;
            case WAITSOME: error = MPI_Waitsome(3, q, &some, indices, statuses); break;
            case TESTALL: error = MPI_Testall(3, q, &flag, statuses); break;
            case TESTANY: error = MPI_Testany(3, q, &index, &flag, &status); break;
            case TESTSOME: error = MPI_Testsome(3, q, &some, indices, statuses); break;
            }
            /* Which error classes are seen, in the call's result or in a status; not how often. */
            seen[class_of(error) % 20] |= error != MPI_SUCCESS;
            if (class_of(error) != MPI_ERR_IN_STATUS) continue;
            if (way == WAITALL || way == TESTALL) some = 3;
            for (int i = 0; i < some; i++)
                seen[class_of(statuses[i].MPI_ERROR) % 20] |= statuses[i].MPI_ERROR != MPI_SUCCESS;
        }
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &last);
        MPI_Wait(&last, MPI_STATUS_IGNORE);
        CHECK(sum == world_size);
        report("way %d: truncated %d, in status %d", way, seen[MPI_ERR_TRUNCATE % 20], seen[MPI_ERR_IN_STATUS % 20]);
    }
    MPI_Comm_free(&messages);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
