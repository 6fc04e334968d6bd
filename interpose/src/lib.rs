//! `libmpitrace.so`: preloaded into the ranks of an unmodified MPI program, it records every collective call.
//!
//! The table (`src/functions`) declares every function once; `exports::wrappers` makes the exported functions from it.
//! A call of a collective goes through `recorder`: `identity` finds its size and its operation, and two time
//! stamps go into the arrays of `record::trace_buffer`. `job::lifecycle` starts at Init and ends at Finalize, where
//! `job::output` writes the trace.

#![warn(clippy::undocumented_unsafe_blocks)]
// The table is taken line by line, one macro expansion within the other.
#![recursion_limit = "1024"]
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
