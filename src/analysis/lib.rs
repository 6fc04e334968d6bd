//! Where the time of a run went, and why: the account of each rank, losses, causes, gains, efficiencies.
//!
//! What comes in is an opened trace: its operations, its clock and its messages (`mpitrace_trace`), with the categories
//! of repetitions (`mpitrace_statistics`). What goes out are results as plain data that serialize: parts of time that
//! add up, what was lost to which rank, which counters differ in slow repetitions, what a removed loss would gain.
//!
//! Nothing is printed here: `tools/` makes sentences, tables and pictures of the results.

pub mod account;
pub mod causality;
pub mod causes;
pub mod diagnosis;
pub mod efficiency;
pub mod findings;
#[cfg(test)]
mod invented_tests;
pub mod messages;
mod reasons;
pub mod replay;
pub mod run;
