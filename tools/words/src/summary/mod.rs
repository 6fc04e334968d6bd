//! The summary of a run: where the ranks' time went, what was lost, and what to do next.
//!
//! One and the same for `mpitrace summary`, the end of `mpitrace run` and the head of `mpitrace report`.

mod around;
mod code;
mod counted;
pub mod facts;
mod finding;
pub mod grouped;
mod lack;
mod largest;
mod make;
mod processes;
mod threads;
mod together;
mod units;
mod unknown_waits;
mod verdict;
mod words;
mod worlds;

pub use facts::Summary;
pub use units::{percent, seconds};
pub use worlds::Whole;
