//! `libmpitrace.so`: preloaded into the ranks of an unmodified MPI program, it records every collective call.
//!
//! The table (`src/functions`) declares every function once; [`wrappers`] makes the exported functions from it. A call of a collective goes
//! through [`recorder`]: [`message`] finds its size, [`operations`] its operation, and two time stamps go into the arrays of
//! [`live`]. [`lifecycle`] starts at Init and ends at Finalize, where [`output`] writes the trace.

#![warn(clippy::undocumented_unsafe_blocks)]
// The table is taken line by line, one macro expansion within the other.
#![recursion_limit = "1024"]
#![allow(missing_docs, reason = "a cdylib has no Rust interface; what C programs see is in include/")]

mod abi;
mod beginning;
mod call_site;
mod clocks;
mod communicator;
mod communicators;
mod completion;
mod counters;
mod datatype;
mod ending;
mod factors;
mod inner;
mod large_count;
mod lifecycle;
mod live;
mod lookup;
mod memory;
mod message;
mod messages;
mod mode;
mod mpi;
mod nearest;
mod operations;
mod output;
mod perf;
mod preloaded;
mod presence;
mod receives;
mod recorder;
mod registry;
mod requests;
mod run;
mod sample;
mod say;
mod sessions;
mod settings;
mod slot;
mod status;
mod stretch;
mod symbol;
mod taken;
mod tally;
mod thread;
mod ticks;
mod variables;
mod width;
mod world;
mod wrappers;
