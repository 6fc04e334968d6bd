/* counts.c with another tool linked into the program: its wrappers come before all libraries, and it prints how often
 * each function was called into TALLY_OUTPUT.<rank>. */
#include "tally.c"
#include "counts.c"
