//! Series of run times: the category of each repetition and intervals.
//!
//! It starts no thread for series shorter than [`parallel::LEAST`].

pub mod categories;
pub mod distributions;
pub mod parallel;
pub mod statistics;
