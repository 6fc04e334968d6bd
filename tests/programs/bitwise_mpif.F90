! The program of bitwise.inc by the binding of mpif.h.
#define MODULE bitwise_mpif
#define MPIF
#include "bitwise.inc"
