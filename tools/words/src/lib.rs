//! Facts become sentences: the summary of a run, where ranks are, calls that do not belong together, what was left
//! undone, what changed between runs, and the facts of `info`. What comes in are results of the analysis. What goes out
//! are the structures that JSON is made of, and lines for people; nothing is read from a file or printed here.

mod base;
pub mod changes;
pub mod info;
mod job;
pub mod summary;

pub use base::{description, names, numbers, reason, rows, share};
pub use job::{all_calls, ended, mismatches, places, stack, undone, untraced};
