//! Ticks of a counter, and how those of one become those of another.

mod affine;
mod pretended;

pub use affine::AffineMap;
pub use pretended::{Groups, Pretended};
