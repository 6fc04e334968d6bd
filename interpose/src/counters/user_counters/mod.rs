//! Counters, timers and regions of code inside the stack: the application, the MPI library, a transport below it
//! (`include/mpitrace.h`, `include/roth_tracing.h`).
//!
//! Adding is a store to the thread's own sums, which only ever grow; the recorder takes the difference over each call
//! and region. Names come with the first use, before MPI_Init too.

pub mod names;
mod sums;

pub use names::start;
pub use sums::UserCounters;
