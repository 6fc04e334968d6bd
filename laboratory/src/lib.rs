//! `mpitrace benchmark`: commands that serve research on benchmarks. What comes in are traces and run times that other
//! tools have measured. What goes out are tables and JSON of how exact a way to measure is.
//!
//! The crate has the formulas by which benchmarks process their times ([`schemes`]), how they synchronise their ranks
//! ([`synchronisation_check`]), what two barriers prove of the time between them ([`barrier_bounds`]), how many
//! repetitions and runs are enough ([`enough`]), which operations others that do the same are held against
//! ([`guidelines`]), and which of the MPI library's algorithms are faster for a program
//! ([`algorithms`]). The metrics by which a warm-up was looked for are [`mpitrace_statistics::Metrics`]. Traces are
//! read and shown by the library of the companion; `commands` has a file for each command.

pub mod algorithms;
mod commands;
mod formulas;
mod repetitions;
mod sizes;
pub mod synchronisation_check;

pub use commands::Arguments;
pub use formulas::{barrier_bounds, counted, schemes};
pub use repetitions::{enough, stopping};
pub use sizes::{by_size, guidelines};
