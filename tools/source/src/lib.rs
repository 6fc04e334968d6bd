//! Opens what the user names: traces, or run times that other tools have measured. What comes in are files and the
//! options that say which of their operations, repetitions and run times are meant. What goes out are operations with
//! their repetitions and times behind one interface, and the warnings about what is incomplete.
//!
//! One operation's columns are made at a time, each rank's by itself: memory is for what is looked at, not for the
//! trace.

mod categorized;
mod columns;
mod members;
pub mod memory;
pub mod numbers;
mod opened;
pub mod operation_time;
pub mod options;
mod requests;
mod source;
#[cfg(test)]
mod tests;
pub mod trace_files;
mod traced;
mod untraced;
pub mod worlds;

pub use categorized::Categorized;
pub use columns::{Counter, Ranks, RunTimes, ValueKind};
pub use opened::{check_operation, open, open_trace, run_of, warn_if_incomplete};
pub use requests::own_work_text;
pub use source::Source;
pub use traced::Traced;
