//! What benchmarks make of the times that they measure.

pub mod barrier_bounds;
pub mod counted;
pub mod schemes;
