//! Where a call is stamped and kept: ticks before and after, into arrays of the thread's own in the trace buffer.
//!
//! Runs on the way of every recorded call, so it does not lock, allocate or call MPI there. That is done only when a
//! thread makes its first call or takes another chunk of the buffer.

pub mod chunk;
pub mod entry;
mod layout;
pub mod memory;
pub mod mode;
mod nesting;
pub mod published;
pub mod recorder;
pub mod thread;
pub mod threads;
pub mod ticks;
pub mod tls;
pub mod trace_buffer;
