//! Series of run times: the category of each repetition and intervals.
//!
//! It depends on nothing but the standard library, and starts no thread for series shorter than [`parallel::LEAST`].

pub mod categories;
pub mod distributions;
pub mod parallel;
pub mod statistics;
