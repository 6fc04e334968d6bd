//! Segments: memory of the node in which a running process keeps its records. They are read while it runs, and made
//! into a trace when it was killed.

pub mod block_file;
pub mod live;
pub mod live_records;
pub mod publication;
pub mod recover;
pub mod segment;
