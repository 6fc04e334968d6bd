/* As in a library into which the component was linked statically, by which its functions have no dynamic symbols. */
#define OF_ALGORITHMS __attribute__((visibility("hidden")))
#include "mock_algorithms.c"
