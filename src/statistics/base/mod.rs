//! Two things that every crate of the analysis uses: names of choices, and work shared out among processors.

pub mod names;
pub mod parallel;
