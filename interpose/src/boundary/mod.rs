//! Where the program, the MPI library and this one meet: the exported functions, the calls of the library's own
//! functions behind them, and what differs between binary interfaces.
//!
//! All of it runs on the way of a call. Code in here does not lock and does not allocate once a function has been
//! looked up; it calls MPI only by forwarding what the program has called, or where a caller asks for it.

pub mod abi;
pub mod large_count;
pub mod mpi;
pub mod preloaded;
pub mod processor;
pub mod program;
pub mod status;
pub mod symbol;
pub mod system;
pub mod unwind;
pub mod width;
pub mod wrappers;
