//! The analysis of traces: from the calls that were recorded to numbers that can be compared.
//!
//! Nothing in here knows MPI or C. The preloaded library (`interpose/`) fills the arrays that `mpitrace_format`
//! describes, [`reader`] opens what it wrote, and the companion (`tools/`) shows what is found in it. A datum goes one
//! way:
//!
//! call -> record -> trace -> [`reader`] -> [`operations`] (repetitions) -> [`categories`] -> a table or a picture.

pub mod account;
pub mod call_site;
pub mod categories;
pub mod causality;
pub mod causes;
pub mod clock;
pub mod comparison;
pub mod completion_times;
pub mod diagnosis;
pub mod import;
#[cfg(test)]
mod invented;
pub mod large_pages;
pub mod live;
pub mod metrics;
pub mod operations;
pub mod packed;
pub mod reader;
pub mod run_time;
pub mod statistics;
pub mod synchronisation_check;
pub mod synthetic;
pub mod whole_run;

pub use mpitrace_series::stopping;

pub(crate) use mpitrace_series::parallel;
