//! The commands of `mpitrace`, a folder each: its options, and what it does with them. What comes in is the command
//! line of a process. What goes out is what the crates below make of it, on standard output or in files, messages on
//! standard error, and an exit code.
//!
//! The laboratory, whose commands are `mpitrace benchmark`, uses what is public.

mod categorize;
mod cli;
mod clock;
mod compare;
mod completions;
mod diagnose;
mod doctor;
mod dump;
mod exit;
mod export;
mod gate;
mod info;
#[cfg(test)]
mod invented_tests;
mod jobs;
mod man;
mod overhead;
mod recover;
mod report;
mod run;
mod scale;
mod stats;
mod summary;
mod usage;
mod watch;

pub use cli::{Benchmark, main};
pub use exit::exit_code;
pub use run::{shuffled, traces_of};
