//! Polls: calls that test requests or look for messages and find nothing.

use std::ops::AddAssign;

use mpitrace_trace::clock::RankClock;
use mpitrace_trace::reader::Part;

/// The rows of polls of the thread of a rank that called MPI_Init, those that had ended. Times in ns. But for what was
/// computed between the polls they are waiting, in point-to-point calls or for a collective.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Polled {
    /// Polls, those that found something included.
    pub polls: u64,
    /// Rows: polls with no other call between them.
    pub rows: u64,
    /// From the beginnings of the rows to their ends.
    pub ns: f64,
    /// The part of that in which the program computed, as measured between some of the polls.
    pub computing_ns: f64,
    /// The variance of that, ns^2.
    pub variance: f64,
}

impl Polled {
    pub(super) fn new(part: &Part, clock: &RankClock) -> Polled {
        let Some(polls) = part.polls().get(part.main_thread() as usize) else { return Polled::default() };
        let tick = clock.ticks_ns(1 << 32) / (1u64 << 32) as f64;
        Polled {
            polls: polls.polls,
            rows: polls.rows,
            ns: clock.ticks_ns(polls.ticks),
            computing_ns: clock.ticks_ns(polls.computing),
            variance: polls.variance * tick * tick,
        }
    }

    /// Between these computed the program, ns: the interval of 95 %.
    ///
    /// ```
    /// use mpitrace_analysis::account::Polled;
    ///
    /// let polled = Polled { ns: 900.0, computing_ns: 100.0, variance: 100.0, ..Polled::default() };
    /// assert_eq!(polled.interval_ns(), [80.4, 119.6]);
    /// ```
    pub fn interval_ns(&self) -> [f64; 2] {
        let width = 1.96 * self.variance.sqrt();
        [self.computing_ns - width, self.computing_ns + width].map(|ns| ns.clamp(0.0, self.ns.max(0.0)))
    }
}

impl AddAssign for Polled {
    fn add_assign(&mut self, other: Polled) {
        self.polls += other.polls;
        self.rows += other.rows;
        self.ns += other.ns;
        self.computing_ns += other.computing_ns;
        self.variance += other.variance;
    }
}
