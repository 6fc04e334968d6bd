//! Facts about MPI libraries and machines that the preloaded library and the companion share, each stated once.
//!
//! What comes in are names, numbers and addresses of a library or a kernel. What goes out is plain data, by system
//! calls where a fact has to be asked for; [`system`] has the calls of the C library and the kernel that Rust's library
//! lacks. How an address is looked up differs between the two users (in the process itself, in a loaded library), so
//! that stays with them.

pub mod abi;
pub mod errno;
pub mod event_names;
pub mod event_presets;
pub mod interruptions;
pub mod mpi_t;
pub mod node_files;
pub mod perf;
pub mod perf_event;
pub mod perf_refusals;
pub mod processor;
pub mod prompt;
pub mod python;
pub mod suggest;
pub mod system;
pub mod ticks;
pub mod time;
pub mod tsc;
