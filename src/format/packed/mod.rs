//! The one stored form of records: packed blocks.
//!
//! A block is the records of one chunk, or some of them. Each column is stored by what its values follow from: sequence
//! and repetition numbers from counting (`counted`), operations from what was called before (`phrases`), times from how
//! long calls and the pauses between them take (`times`); what hardly differs between calls of an operation from the
//! call before (`counted`); all else in packed frames (`frames`), which take the values as they are where nothing is
//! shorter. Each block can be read alone. docs/developers/trace-format.md describes every byte.

mod block;
mod counted;
mod frames;
pub(crate) mod number;
mod phrases;
mod times;

pub use block::{Block, BlockHeader, LONGEST_BLOCK, Numbering, Rows, column};
