/* A tool to be preloaded below the tracer: what completes or frees something has done so long before it returns. */
#include <mpi.h>
#include <unistd.h>

static int late(int result)
{
    usleep(60000);
    return result;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) { return late(PMPI_Wait(request, status)); }
int MPI_Request_free(MPI_Request *request) { return late(PMPI_Request_free(request)); }
int MPI_Comm_free(MPI_Comm *comm) { return late(PMPI_Comm_free(comm)); }
int MPI_Type_free(MPI_Datatype *datatype) { return late(PMPI_Type_free(datatype)); }
