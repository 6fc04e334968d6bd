//! The root of mpitrace: the trace format, the clock models and the mathematics of repetitions.
//!
//! Nothing in here knows MPI or C. The preloaded library (`interpose/`) fills the arrays that [`trace`] describes,
//! the companion (`tools/`) reads them back; the two meet here and nowhere else. A datum goes one way:
//!
//! call -> record -> [`trace`] -> [`operations`] (repetitions) -> [`categories`] -> a table or a picture.

#[cfg(feature = "analysis")]
pub mod audit;
#[cfg(feature = "analysis")]
pub mod call_site;
pub mod categories;
pub mod causality;
pub mod clock;
#[cfg(feature = "analysis")]
pub mod comparison;
#[cfg(feature = "analysis")]
pub mod completion_times;
#[cfg(feature = "analysis")]
pub mod diagnosis;
#[cfg(feature = "analysis")]
pub mod foreign;
#[cfg(feature = "analysis")]
pub mod large_pages;
pub mod metrics;
pub mod operations;
mod parallel;
pub mod run_time;
pub mod statistics;
pub mod ticks;
pub mod trace;
