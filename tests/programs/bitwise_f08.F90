! The program of bitwise.inc by the binding of `use mpi_f08`.
#define MODULE bitwise_f08
#define F08
#include "bitwise.inc"
