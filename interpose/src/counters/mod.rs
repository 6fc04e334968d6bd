//! Values that are read around each call beside the time: counters of the processor and the kernel, MPI_T variables,
//! messages, and what code inside the stack counts.
//!
//! A reading is on the way of a call: no lock, no allocation, no MPI call but the reading of an MPI_T variable. Opening
//! and binding happen at start-up and when a thread makes its first call, where all of that is allowed.

pub mod counter_reader;
pub mod kinds;
pub mod message_counters;
pub mod mpi_t;
pub mod per_call;
pub mod perf;
pub mod source;
pub mod user_counters;
