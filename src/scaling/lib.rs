//! Many runs of one program: how it scales with the number of ranks, and why runs that should be alike differ.
//!
//! What comes in are facts of runs, made of opened traces (`mpitrace_analysis`): times of the ranks in parts that add
//! up, efficiencies, instructions; or the times of runs with what is known of each. What goes out are efficiencies with
//! intervals, laws of growth, predictions and shares of variance, as plain data that serialize.
//!
//! Nothing is printed here: `tools/` makes sentences, tables and pictures of the results.

mod code;
mod counted;
pub mod facts;
mod fit;
mod growth;
mod law;
mod levels;
mod mode;
mod noise;
mod parts;
mod prediction;
mod scaling;
pub mod why;

pub use code::{Shares, divide_computing, shares};
pub use growth::{GrowingPart, Growth, LawShare};
pub use law::Law;
pub use levels::Level;
pub use mode::{Mode, ModeFound};
pub use prediction::{Limit, Prediction};
pub use scaling::{Refusal, Scaling};

// A file that a benchmark uses as well names the crate.
#[cfg(test)]
extern crate self as mpitrace_scaling;

#[cfg(test)]
mod facts_tests;
#[cfg(test)]
mod simulated_tests;
