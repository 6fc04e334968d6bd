//! A row of polls: calls that test requests or look for messages and find nothing, with no other call between them.
//!
//! A row is waiting for what is polled, but for what the program computes between the polls. Stamped are its first
//! poll, each sixteenth and the one behind that, and its end; where the program computes, all polls. Times in ticks.

use crate::layout::PollTimes;

const EVERY: u64 = 16;

/// Times that divide what lies between two polls, ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The loop around a poll takes no longer: what is beyond is the program's computing.
    pub of_loop: u64,
    /// Where the program computes for longer, all polls are stamped, ...
    pub slow: u64,
    /// ... and where so much lies between them, also of sleep: those who look see that they go on.
    pub rare: u64,
}

impl Limits {
    /// The limits by the speed of the ticks: 1 µs, 10 µs and 1 ms.
    ///
    /// ```
    /// use mpitrace_format::polls::Limits;
    ///
    /// assert_eq!(Limits::new(2e9), Limits { of_loop: 2_000, slow: 20_000, rare: 2_000_000 });
    /// ```
    pub fn new(hz: f64) -> Limits {
        let [of_loop, slow, rare] = [1e-6, 1e-5, 1e-3].map(|seconds| (seconds * hz) as u64);
        Limits { of_loop, slow, rare }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    tick: u64,
    /// The poll, counted from 1.
    poll: u64,
    is_exit: bool,
    /// For so long the thread was off its processor up to then, from any beginning.
    off: u64,
}

/// How a row ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With the exit of a poll that has found something, or has failed.
    Poll,
    /// With the entry of another call.
    Call,
}

/// A row that goes on.
///
/// ```
/// use mpitrace_format::polls::{End, Limits, Row};
///
/// let limits = Limits::new(1e9);
/// let mut row = Row::new(0);
/// row.exit(100, 0);
/// // Each of 20 polls takes 100 ns, and the program computes for 50 µs in between.
/// for poll in 1..=20 {
///     assert!(row.poll());
///     assert!(row.enter(poll * 50_100, 0, limits));
///     row.exit(poll * 50_100 + 100, 0);
/// }
/// let times = row.end(20 * 50_100 + 100, 0, End::Poll, limits);
/// assert_eq!((times.polls, times.ticks, times.computing), (21, 1_002_100, 1_000_000));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    count: u64,
    /// The next poll with a stamp, counted from 1.
    stamp_at: u64,
    enter: u64,
    last: Stamp,
    /// How many gaps between polls were measured, the program's part of them, and its squares.
    gaps: u64,
    computing: u64,
    squares: f64,
}

impl Row {
    /// A row whose first poll begins at this tick.
    pub const fn new(enter: u64) -> Row {
        let last = Stamp { tick: 0, poll: 0, is_exit: false, off: 0 };
        Row { count: 1, stamp_at: 1, enter, last, gaps: 0, computing: 0, squares: 0.0 }
    }

    /// The tick at which it began.
    pub fn began(&self) -> u64 {
        self.enter
    }

    /// Another poll begins: true if it is to be stamped.
    #[inline(always)]
    pub fn poll(&mut self) -> bool {
        self.count += 1;
        self.count >= self.stamp_at
    }

    /// True if the exit of the poll before the present one was stamped, so that its entry is to be.
    pub fn is_open(&self) -> bool {
        self.last.is_exit
    }

    /// For so long the thread was off its processor up to the last stamp.
    pub fn off(&self) -> u64 {
        self.last.off
    }

    /// The present poll, or another call, begins at this tick; behind a stamped exit. True if the program computes
    /// between its polls.
    pub fn enter(&mut self, tick: u64, off: u64, limits: Limits) -> bool {
        let gap = tick.wrapping_sub(self.last.tick);
        let off_here = off.saturating_sub(self.last.off);
        let on_processor = gap.saturating_sub(off_here);
        let computed = if on_processor > limits.of_loop { on_processor } else { 0 };
        // How long the thread was off its processor is not known to some 10 µs.
        if off_here <= limits.of_loop || on_processor > limits.rare / 5 {
            self.gaps += 1;
            self.computing += computed;
            self.squares += computed as f64 * computed as f64;
        }
        self.last = Stamp { tick, poll: self.count, is_exit: false, off };
        let is_slow = computed > limits.slow;
        self.stamp_at = if is_slow || gap > limits.rare { self.count } else { self.count.next_multiple_of(EVERY) };
        computed > limits.rare || self.is_computing(0)
    }

    /// True if the exit of the present poll is to be stamped.
    pub fn has_exit(&self) -> bool {
        self.count >= self.stamp_at
    }

    /// The present poll has found nothing at this tick.
    pub fn exit(&mut self, tick: u64, off: u64) {
        self.last = Stamp { tick, poll: self.count, is_exit: true, off };
        self.stamp_at = self.count + 1;
    }

    fn mean(&self) -> f64 {
        self.computing as f64 / self.gaps.max(1) as f64
    }

    /// More than half of the time up to the last stamp was the program's; `without`: ticks that are not looked at.
    pub fn is_computing(&self, without: u64) -> bool {
        let all = self.last.tick.wrapping_sub(self.enter).saturating_sub(without);
        self.gaps > 0 && 2.0 * self.mean() * self.count as f64 > all as f64
    }

    /// The computing in so many gaps, those that were measured included, and its variance. Of one that was measured
    /// alone the others may be anything: as exponential ones are.
    fn scaled(&self, all: u64) -> (f64, f64) {
        let (others, measured) = (all.saturating_sub(self.gaps) as f64, self.gaps.max(1) as f64);
        let mean = self.mean();
        let spread = match self.gaps {
            0 | 1 => mean * mean,
            _ => (self.squares / measured - mean * mean).max(0.0) * measured / (measured - 1.0),
        };
        (self.computing as f64 + others * mean, spread * others * (1.0 + others / measured))
    }

    /// The time behind the last stamp, up to another call at this tick, that is more than its polls take at twice the
    /// pace of those before: the program's, before that call; and what the polls may take.
    fn behind(&self, tick: u64, off: u64, limits: Limits) -> (u64, u64) {
        let polls = self.count + 1 - self.last.poll;
        let pace = self.last.tick.wrapping_sub(self.enter) / self.last.poll.saturating_sub(1).max(1);
        let expected = 2 * polls * pace.max(limits.of_loop / 4);
        let off = off.saturating_sub(self.last.off);
        (tick.wrapping_sub(self.last.tick).saturating_sub(expected + off), expected)
    }

    /// The row ends at this tick; before another call that comes behind a stamped exit [`Row::enter`] was called.
    pub fn end(&self, tick: u64, off: u64, end: End, limits: Limits) -> PollTimes {
        // A call that ends the row at once has measured the last gap.
        let is_measured = self.last.tick == tick && !self.last.is_exit;
        let (behind, polls) = match end {
            End::Call if !is_measured => self.behind(tick, off, limits),
            _ => (0, 0),
        };
        let (scaled, variance) = self.scaled(self.count - 1 + u64::from(is_measured));
        let ticks = tick.wrapping_sub(self.enter);
        PollTimes {
            polls: self.count,
            rows: 1,
            ticks,
            computing: (scaled as u64).saturating_add(behind).min(ticks),
            variance: variance + (polls as f64).powi(2),
            since: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { of_loop: 1_000, slow: 10_000, rare: 1_000_000 };

    fn measured(gaps: &[u64]) -> Row {
        let mut row = Row::new(0);
        for &gap in gaps {
            row.exit(0, 0);
            row.enter(gap, 0, Limits { of_loop: 0, ..LIMITS });
        }
        row
    }

    #[test]
    fn measured_gaps_stand_for_all() {
        assert_eq!(measured(&[]).scaled(5), (0.0, 0.0));
        assert_eq!(measured(&[0, 0]).scaled(31), (0.0, 0.0), "without work");
        assert_eq!(measured(&[50; 4]).scaled(64), (3200.0, 0.0), "constant work");
        assert_eq!(measured(&[30]).scaled(1), (30.0, 0.0), "measured whole");
        assert_eq!(measured(&[30]).scaled(3), (90.0, 900.0 * 2.0 * 3.0));
    }

    /// Polls of 100 ns with so much between them, so much of which is sleep; the row, its stamps and its end.
    fn row(polls: u64, gap: u64, asleep: u64) -> (Row, u64, u64) {
        let (mut row, mut stamps) = (Row::new(0), 1);
        row.exit(100, 0);
        for poll in 1..polls {
            let (tick, off) = (poll * (100 + gap), poll * asleep);
            if row.poll() {
                if row.is_open() {
                    row.enter(tick, off, LIMITS);
                    stamps += 1;
                }
                if row.has_exit() {
                    row.exit(tick + 100, off);
                    stamps += 1;
                }
            }
        }
        (row, stamps, (polls - 1) * (100 + gap) + 100)
    }

    #[test]
    fn quick_polls_have_a_stamp_in_eight_and_are_waiting() {
        let (row, stamps, end) = row(1600, 20, 0);
        assert_eq!(stamps, 2 + 2 * 99 + 1, "polls 1, 2, 16, 17 up to 1600");
        let times = row.end(end, 0, End::Poll, LIMITS);
        assert_eq!((times.polls, times.ticks, times.computing, times.variance), (1600, end, 0, 0.0));
    }

    #[test]
    fn work_between_polls_is_computing_and_sleep_is_not() {
        for gap in [2_000, 50_000, 10_000_000] {
            let (row, _, end) = row(100, gap, 0);
            assert_eq!(row.end(end, 0, End::Poll, LIMITS).computing, 99 * gap);
            assert!(row.is_computing(0));
        }
        let (row, stamps, end) = row(100, 2_000_000, 1_999_500);
        assert_eq!(row.end(end, 99 * 1_999_500, End::Poll, LIMITS).computing, 0);
        assert_eq!(stamps, 1 + 2 * 99, "those who look see each");
    }

    #[test]
    fn computing_before_another_call_is_told_from_polls() {
        for polls in [1, 2, 10, 40] {
            let (mut row, _, end) = row(polls, 20, 0);
            let at = end + 5_000_000;
            if row.is_open() {
                row.enter(at, 0, LIMITS);
            }
            let computing = row.end(at, 0, End::Call, LIMITS).computing;
            assert!((4_980_000..=5_000_000).contains(&computing), "{polls}: {computing}");
        }
    }

    /// The interval holds in 19 of 20 rows of exponential gaps of which each sixteenth is measured.
    #[test]
    fn the_interval_holds() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (-(((state >> 11) as f64 + 1.0) / (1u64 << 53) as f64).ln() * 50_000.0) as u64
        };
        let mut held = 0;
        for _ in 0..400 {
            let all: Vec<u64> = (0..640).map(|_| random()).collect();
            let some: Vec<u64> = all.iter().copied().step_by(16).collect();
            let (sum, variance) = measured(&some).scaled(all.len() as u64);
            held += u32::from((sum - all.iter().sum::<u64>() as f64).abs() <= 1.96 * variance.sqrt());
        }
        assert!((360..=398).contains(&held), "{held} of 400");
    }
}
