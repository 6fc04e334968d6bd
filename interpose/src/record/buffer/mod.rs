//! The trace buffer, in memory that outlives the process: its tables and its chunks of records. Full chunks are packed
//! into blocks, and calls that are not kept are counted in histograms.

pub mod chunk;
mod chunk_memory;
mod copy;
pub mod drawn;
pub mod histograms;
mod layout;
mod packer;
mod sample;
pub mod spill;
mod tables;
pub mod trace_buffer;
mod unkept;
