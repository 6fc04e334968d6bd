//! Sums of the user counters on a thread.

use mpitrace_format::layout::INNER_COUNTERS;

/// Sums of the user counters on a thread since it began.
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
