//! The compact form of the columns of a part: packed blocks.
//!
//! The records of a part are cut into blocks, and each column of a block is stored by what its values follow from:
//! sequence and repetition numbers from counting (`counted`), operations from what was called before (`phrases`),
//! times from how long calls and the pauses between them take (`times`); all else in packed frames (`frames`). Each
//! block can be read alone. What does not become shorter is stored as it is.
//! docs/developers/trace-format.md describes every byte.

mod block;
mod counted;
mod frames;
mod number;
mod phrases;
mod section;
mod times;

pub use block::{Block, Columns, Packer, pack_times, zeros};
pub use section::{PackedSection, bytes_of_section};

/// Records of a block. Larger ones have fewer first values to state, smaller ones are reached faster. Those of records
/// that were spilled are as large as a chunk.
pub const RECORDS: usize = 16384;
