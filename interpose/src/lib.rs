//! `libmpitrace.so`: preloaded into the ranks of an unmodified MPI program, it records every collective call.
//!
//! What comes in are the program's MPI calls, which go on to the MPI library, and the settings in the environment. What
//! goes out is a trace file, and while the program runs its records in segments of the node's memory.
//!
//! The table (`src/functions`) declares every function once; `build/wrapper.rs` writes the exported functions from it.
//! A call of a collective goes through `recorder`: `operation` finds its size and its operation, and two time
//! stamps go into the arrays of `record::buffer`. `job::lifecycle` starts at Init and ends at Finalize, where
//! `job::output` writes the trace.

#![warn(clippy::undocumented_unsafe_blocks)]
#![allow(missing_docs, reason = "a cdylib has no Rust interface; what C programs see is in include/")]

mod base;
mod call_sites;
mod clocks;
mod counters;
mod exports;
mod handles;
mod interruptions;
mod job;
mod mpi;
mod operation;
mod record;
mod recorder;
