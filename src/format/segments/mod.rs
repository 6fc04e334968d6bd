//! What a running process keeps in memory of its node: read while it runs, and made a trace when it was killed.

pub mod block_file;
pub mod live;
pub mod live_records;
pub mod recover;
pub mod segment;
