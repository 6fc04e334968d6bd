//! Where a call is stamped and kept: ticks before and after, into arrays of the thread's own in the trace buffer.
//!
//! Runs in every recorded call, so it does not lock, allocate or call MPI there. That is done only when a thread makes
//! its first call, takes another chunk of the buffer or needs further columns, after a call of an operation that was
//! not known before, and when it is time to synchronise clocks.

pub mod buffer;
pub mod thread;
