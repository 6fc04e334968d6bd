/* As in a library that was linked with -Bsymbolic: its functions have symbols, and are not called by them. */
#define OF_ALGORITHMS __attribute__((visibility("protected")))
#include "mock_algorithms.c"
