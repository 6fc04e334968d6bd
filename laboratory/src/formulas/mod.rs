//! Formulas by which benchmarks make one number of the times that they measure.

pub mod barrier_bounds;
pub mod counted;
pub mod schemes;
