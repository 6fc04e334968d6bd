//! Happens once in a process: start and end of the tracing, settings, the rank's place in the job, writing the
//! trace, messages to the user.
//!
//! Nothing in here runs on the way of a recorded call. It may allocate, lock, read files and call MPI, collectively
//! too, but only where all ranks are known to be traced.

pub mod agreement;
pub mod exit_writer;
pub mod kept;
pub mod launcher;
mod leftovers;
pub mod lifecycle;
pub mod metadata;
pub mod node_writers;
pub mod output;
pub mod output_name;
pub mod run;
pub mod sessions;
pub mod settings;
pub mod settlement;
pub mod starting;
pub mod startup;
pub mod traced_ranks;
pub mod writers;
