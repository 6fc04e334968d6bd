// A collective that no MPI library has, for the tests that follow one line of the table to every output; they include
// this file. It has all that a collective can have, and its names follow no convention: what takes them apart is wrong.

/// The line, as `mpitrace_functions::TABLE` has the others.
pub const INVENTED_TABLE: &str = stringify! {
    collective+c Inform, Whisper(buffer, count, datatype, op, root, comm)
        => uniform(count, datatype) root root reduction op on comm
        as one_to_all otf2 SCATTER reprompi Rumour;
};
