//! For tests and measurements: traces of programs that never ran, and random numbers that are the same everywhere. No
//! crate that ships depends on it.

mod random;
pub mod synthetic;

pub use random::Random;
