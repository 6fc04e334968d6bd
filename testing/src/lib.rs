//! For tests and measurements: traces of programs that never ran, and random numbers that are the same everywhere. No
//! crate that ships depends on it.

pub mod invented;
pub mod programs;
mod random;
pub mod simulator;
pub mod synthetic;

pub use random::Random;
