// A collective that no MPI library has, for the tests that follow one line of the table to every output; they include
// this file. It has all that a collective can have, and its names follow no convention: what takes them apart is wrong.

/// Gives the line to the macro `$declare`, as `mpitrace_functions::for_each_function` does with the table.
macro_rules! for_each_invented {
    ($declare:ident) => {
        $declare! {
            collective+c Inform, Whisper(buffer, count, datatype, op, root, comm)
                => uniform(count, datatype) root root reduction op on comm
                as one_to_all otf2 SCATTER reprompi Rumour;
        }
    };
}
