//! The compact form of a trace: each rank's columns in packed blocks.
//!
//! The records of a part are cut into blocks of [`RECORDS`], and each column of a block is stored by what its values
//! follow from: sequence and repetition numbers from counting ([`counted`]), operations from what was called before
//! ([`phrases`]), times from how long calls and the pauses between them take ([`times`]); all else in packed frames
//! ([`frames`]). Each block can be read alone. What does not become shorter is stored as it is.
//! docs/trace-format.md describes every byte.

mod block;
mod counted;
mod frames;
mod number;
mod phrases;
mod section;
#[cfg(test)]
mod tests;
mod times;
mod write;

pub(crate) use block::{Block, Columns};
pub(crate) use section::PackedSection;
pub use write::{PackError, Rewritten, pack, pack_with, unpack};

/// Records of a block. Larger ones have fewer first values to state, smaller ones are reached faster.
pub const RECORDS: usize = 16384;
