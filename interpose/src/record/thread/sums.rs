//! What code inside the stack has added on a thread.

use mpitrace_format::layout::INNER_COUNTERS;

/// What code inside the stack has added on a thread since that began.
pub struct Sums {
    /// By slot; those of timers in ticks.
    pub sum: [u64; INNER_COUNTERS],
    /// When a timer was started, ticks; 0: it is not running.
    pub started: [u64; INNER_COUNTERS],
}

impl Sums {
    /// Nothing yet.
    pub const ZERO: Sums = Sums { sum: [0; INNER_COUNTERS], started: [0; INNER_COUNTERS] };
}
