//! `libmpitrace.so`: preloaded into the ranks of an unmodified MPI program, it records every collective call.
//!
//! The table (`src/functions`) declares every function once; `build/wrapper.rs` writes the exported functions from it.
//! A call of a collective goes through `recorder`: `identity` finds its size and its operation, and two time
//! stamps go into the arrays of `record::trace_buffer`. `job::lifecycle` starts at Init and ends at Finalize, where
//! `job::output` writes the trace.

#![warn(clippy::undocumented_unsafe_blocks)]
#![allow(missing_docs, reason = "a cdylib has no Rust interface; what C programs see is in include/")]

mod base;
mod clocks;
mod counters;
mod exports;
mod identity;
mod job;
mod mpi;
mod record;
mod recorder;
