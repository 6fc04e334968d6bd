//! Series of run times: the category of each repetition, intervals, and when there are enough repetitions.
//!
//! It depends on nothing but the standard library, and starts no thread for series shorter than [`parallel::LEAST`].

pub mod categories;
mod distributions;
pub mod parallel;
pub mod statistics;
pub mod stopping;
