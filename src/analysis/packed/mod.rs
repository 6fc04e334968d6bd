//! Packs and unpacks traces: each rank's columns in blocks, as [`mpitrace_format::packed`] has them.

#[cfg(test)]
mod tests;
mod write;

pub use mpitrace_format::packed::RECORDS;
pub(crate) use mpitrace_format::packed::{Block, Columns, PackedSection};
pub use write::{PackError, Rewritten, pack, pack_with, unpack};
