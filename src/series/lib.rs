//! Series of run times: the category of each repetition, intervals, and when there are enough repetitions.
//!
//! Both the analysis of a trace and the preloaded library, inside a running program, stand on this crate: one
//! computation for both. So it depends on nothing but the standard library, and starts no thread for series shorter
//! than [`parallel::LEAST`].

pub mod categories;
mod distributions;
pub mod parallel;
pub mod statistics;
pub mod stopping;
