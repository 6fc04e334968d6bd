! The program of bitwise.inc by the binding of `use mpi`.
#define MODULE bitwise_use_mpi
#include "bitwise.inc"
