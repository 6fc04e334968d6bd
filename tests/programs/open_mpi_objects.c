/* Preloaded beside a library of the standard interface: the objects that Open MPI 6 has in the process below its own library of
 * that interface. */
char ompi_mpi_comm_world[512], ompi_mpi_comm_self[512], ompi_mpi_comm_null[512];
char ompi_mpi_byte[512], ompi_mpi_double[512], ompi_mpi_int[512], ompi_mpi_op_sum[512], ompi_request_null[512];
