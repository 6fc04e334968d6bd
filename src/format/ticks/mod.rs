//! Ticks of a counter, and how those of one become those of another.

mod affine;
mod simulated_clock;

pub use affine::AffineMap;
pub use simulated_clock::{Groups, SimulatedClock};
