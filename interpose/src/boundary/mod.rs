//! Where the program, the MPI library and this one meet: the exported functions, the calls of the library's own
//! functions behind them, and what differs between binary interfaces.
//!
//! The wrappers run in every call of the program. They do not lock or allocate once a function has been looked up; a call
//! with large counts that the library lacks, and a counted receive without a status, allocate. They forward what the
//! program has called; `mpi/` has the functions that the tracer calls by itself.

pub mod abi;
pub mod allocator;
pub mod errno;
pub mod error_handlers;
pub mod large_count;
pub mod mpi;
pub mod pause;
pub mod preloaded;
pub mod processor;
pub mod program;
pub mod standard_error;
pub mod status;
pub mod symbol;
pub mod system;
pub mod unwind;
pub mod width;
pub mod wrappers;
