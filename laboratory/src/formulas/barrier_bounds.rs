//! Bounds on the time of the work between two barriers that need no global clock (McCalpin 2019).
//!
//! ```text
//! t0; MPI_Barrier; t1; the work; t2; MPI_Barrier; t3
//! max_k(t2 - t1)  <=  max t2 - min t1  <=  min_k(t3 - t0)
//! ```
//!
//! No rank leaves the first barrier before all have entered it, and none leaves the second before all have entered
//! that; so each rank's t3 - t0 holds all of the work, of whatever rank. Both ends are differences on one clock. What
//! global time says lies between them, or it is wrong.

use mpitrace_statistics::median;
use mpitrace_trace::clock::{Clock, RankClock};
use mpitrace_trace::operations::{Operation, Operations};
use mpitrace_trace::reader::Trace;

/// The bounds of one repetition, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// max_k(t2 - t1).
    pub lower_ns: f64,
    /// min_k(t3 - t0).
    pub upper_ns: f64,
    /// max t2 - min t1 by global time.
    pub global_ns: f64,
    /// The relation of the global time to them.
    pub verdict: Verdict,
}

/// The relation of global time to its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It lies between them.
    Held,
    /// It lies outside by less than the stated errors of the two times that it is the difference of.
    WithinErrors,
    /// It lies outside by more, or no errors are stated.
    Contradicted,
}

/// The barriers of a communicator, and how to read them.
#[derive(Debug)]
pub struct Barriers<'a> {
    trace: &'a Trace,
    clock: &'a Clock,
    operation: &'a Operation,
    /// Each barrier's rows by position on the communicator, ascending.
    barriers: Vec<(u64, &'a Operation, usize)>,
}

/// Calls between two barriers.
const MOST_CALLS: u64 = 2;
/// Times between pairs of barriers are told from those within them in so many pairs or more, ...
const FEWEST_PAIRS: usize = 10;
/// ... if in this share of the pairs at least the same one is shorter, ...
const ALIKE: f64 = 0.9;
/// ... and its median is below this share of the other one's.
const SHORTER: f64 = 0.25;

impl<'a> Barriers<'a> {
    /// The barriers of the communicator of the `number`-th operation; `None` where it has none.
    pub fn new(trace: &'a Trace, clock: &'a Clock, operations: &'a Operations, number: usize) -> Option<Self> {
        let operation = &operations.operations[number];
        let communicator = operation.key.communicator;
        let mut barriers = Vec::new();
        let is_barrier = |other: &&Operation| other.key.is_blocking_barrier() && other.key.communicator == communicator;
        for barrier in operations.operations.iter().filter(is_barrier) {
            barriers.extend(barrier.complete_rows().map(|row| (position(trace, barrier, row), barrier, row)));
        }
        barriers.sort_unstable_by_key(|(position, ..)| *position);
        (!barriers.is_empty()).then_some(Barriers { trace, clock, operation, barriers })
    }

    /// The bounds of the work around each complete repetition that has a barrier before and one behind it, with one
    /// other call at most between them on the communicator; its place among the complete ones with them. Of a barrier,
    /// those of the work between it and the next one, two calls at most.
    pub fn bounds(&self) -> impl Iterator<Item = (usize, Bounds)> + '_ {
        self.operation.complete_rows().enumerate().filter_map(|(place, row)| {
            let position = position(self.trace, self.operation, row);
            let (before, calls) = match self.operation.key.is_blocking_barrier() {
                true => ((self.operation, row), 0),
                false => {
                    (1..=MOST_CALLS).find_map(|ahead| Some((self.barrier_at(position.checked_sub(ahead)?)?, ahead)))?
                }
            };
            let behind =
                (1..=MOST_CALLS + 1 - calls).find_map(|after| self.barrier_at(position.checked_add(after)?))?;
            Some((place, self.between(before, behind)))
        })
    }

    /// As [`Barriers::bounds`], without the times between one pair of barriers and the next, and how many these are. In
    /// McCalpin's loop of barrier, work, barrier both barriers are one operation: every second time between two of them
    /// has no work. They are told apart by their two populations.
    pub fn of_work(&self) -> (Vec<Bounds>, usize) {
        let all: Vec<Bounds> = self.bounds().map(|(_, bounds)| bounds).collect();
        if !self.operation.key.is_blocking_barrier() {
            return (all, 0);
        }
        let pairs = all.as_chunks::<2>().0;
        let shorter = pairs.iter().filter(|[one, other]| one.lower_ns < other.lower_ns).count();
        let between = usize::from(2 * shorter < pairs.len());
        let middle = |of: usize| median(&mut pairs.iter().map(|pair| pair[of].lower_ns).collect::<Vec<_>>());
        let share = shorter.max(pairs.len() - shorter) as f64 / pairs.len().max(1) as f64;
        let is_short = middle(between).zip(middle(1 - between)).is_some_and(|(gap, work)| gap < SHORTER * work);
        if pairs.len() < FEWEST_PAIRS || share < ALIKE || !is_short {
            return (all, 0);
        }
        let work: Vec<Bounds> = all.iter().skip(1 - between).step_by(2).copied().collect();
        let left_out = all.len() - work.len();
        (work, left_out)
    }

    fn barrier_at(&self, position: u64) -> Option<(&'a Operation, usize)> {
        let found = self.barriers.binary_search_by_key(&position, |&(position, ..)| position).ok()?;
        let (_, barrier, row) = self.barriers[found];
        Some((barrier, row))
    }

    fn between(&self, before: (&Operation, usize), behind: (&Operation, usize)) -> Bounds {
        let (mut lower_ns, mut upper_ns) = (f64::NEG_INFINITY, f64::INFINITY);
        // Times of global time, ns, each with its clock and tick.
        let mut first: (f64, Option<(&RankClock, u64)>) = (f64::INFINITY, None);
        let mut last: (f64, Option<(&RankClock, u64)>) = (f64::NEG_INFINITY, None);
        // All operations of a communicator have the same ranks.
        for (member, &part) in self.operation.parts.iter().enumerate() {
            let times = |(barrier, row): (&Operation, usize)| {
                self.trace.parts[part].times_of(barrier.records(row).get(member) as usize)
            };
            let ((t0, t1), (t2, t3)) = (times(before), times(behind));
            let clock = self.clock.of_part(part);
            lower_ns = lower_ns.max(clock.duration_ns(t1, t2));
            upper_ns = upper_ns.min(clock.duration_ns(t0, t3));
            let (start, end) = (clock.nanoseconds(t1), clock.nanoseconds(t2));
            if start < first.0 {
                first = (start, Some((clock, t1)));
            }
            if end > last.0 {
                last = (end, Some((clock, t2)));
            }
        }
        let global_ns = last.0 - first.0;
        let outside = (lower_ns - global_ns).max(global_ns - upper_ns) - tolerance_ns(upper_ns);
        let error = |of: Option<(&RankClock, u64)>| of.and_then(|(clock, tick)| clock.error_ns(tick));
        let verdict = match outside {
            outside if outside <= 0.0 => Verdict::Held,
            outside => match error(first.1).zip(error(last.1)) {
                Some((first, last)) if outside <= first + last => Verdict::WithinErrors,
                _ => Verdict::Contradicted,
            },
        };
        Bounds { lower_ns, upper_ns, global_ns, verdict }
    }
}

/// By how much global time and a rank's own clock may differ over a time of this length, ns: the rounding of global
/// times after some hours (2^-53 of 10^13 ns), and the change of a clock's rate within it.
fn tolerance_ns(duration_ns: f64) -> f64 {
    1.0 + 1e-5 * duration_ns.abs()
}

fn position(trace: &Trace, operation: &Operation, row: usize) -> u64 {
    // The same on all ranks: that is how calls were matched.
    trace.parts[operation.parts[0]].position_of(operation.records(row).get(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::synthetic::{SyntheticRank, write};

    /// Two ranks; rank 1 enters each barrier 40 ns later. Its clock is `ahead` ns ahead.
    fn benchmark(name: &str, ahead: u64, barriers: bool) -> (Trace, Clock, Operations) {
        let ranks = [0, 1].map(|number: u32| {
            let mut rank = SyntheticRank::new(number, 2);
            let allreduce = rank.operation("MPI_Allreduce", 0, 8);
            let barrier = rank.operation("MPI_Barrier", 0, 0);
            for i in 1..=5 {
                let at = 10_000 * i + if number == 1 { ahead } else { 0 };
                let late = 40 * u64::from(number);
                if barriers {
                    rank.call(barrier, at + late, at + 100);
                }
                rank.call(allreduce, at + 110, at + 600 - late);
            }
            if barriers {
                let at = 60_000 + if number == 1 { ahead } else { 0 };
                rank.call(barrier, at + 40 * u64::from(number), at + 100);
            }
            rank
        });
        let path = std::env::temp_dir().join(format!("mpitrace-{}-{name}.mpitrace", std::process::id()));
        write(&path, &ranks).unwrap();
        let trace = Trace::open(&[&path]).unwrap();
        std::fs::remove_file(path).unwrap();
        let (clock, operations) = (Clock::new(&trace), Operations::new(&trace));
        (trace, clock, operations)
    }

    #[test]
    fn what_lies_between_two_barriers_has_bounds_on_any_clock() {
        let (trace, clock, operations) = benchmark("bounds", 0, true);
        let found: Vec<Bounds> = Barriers::new(&trace, &clock, &operations, 0).unwrap().bounds().map(|b| b.1).collect();
        assert_eq!(found.len(), 5);
        // t1 = 100 on both; t2 = 10000 and 10040: the work is what is between, not only the call.
        let first = found[0];
        assert_eq!((first.lower_ns, first.global_ns, first.upper_ns), (9940.0, 9940.0, 10_060.0));
        assert!(found.iter().all(|bounds| bounds.verdict == Verdict::Held));
        // The barriers' own: the same work, between each and the next.
        let own: Vec<Bounds> = Barriers::new(&trace, &clock, &operations, 1).unwrap().bounds().map(|b| b.1).collect();
        assert_eq!(own, found);
    }

    /// McCalpin's program: a barrier, work with no call or with two, a barrier.
    #[test]
    fn work_with_no_call_or_two_between_barriers_has_bounds() {
        for (calls, of_work, of_barriers) in [(0, 0, 3), (1, 3, 3), (2, 6, 3), (3, 0, 0)] {
            let mut rank = SyntheticRank::new(0, 1);
            let work = rank.operation("MPI_Bcast", 0, 8);
            let barrier = rank.operation("MPI_Barrier", 0, 0);
            for i in 1..=4 {
                rank.call(barrier, 10_000 * i, 10_000 * i + 100);
                let at = |call: u64| 10_000 * i + 1000 * (call + 1);
                (0..if i < 4 { calls } else { 0 }).for_each(|call| rank.call(work, at(call), at(call) + 10));
            }
            let path = std::env::temp_dir().join(format!("mpitrace-{}-calls-{calls}", std::process::id()));
            write(&path, &[rank]).unwrap();
            let trace = Trace::open(&[&path]).unwrap();
            std::fs::remove_file(path).unwrap();
            let (clock, operations) = (Clock::new(&trace), Operations::new(&trace));
            for (number, operation) in operations.operations.iter().enumerate() {
                let barriers = Barriers::new(&trace, &clock, &operations, number).unwrap();
                let bounds: Vec<Bounds> = barriers.bounds().map(|b| b.1).collect();
                let expected = if operation.key.is_blocking_barrier() { of_barriers } else { of_work };
                assert_eq!(bounds.len(), expected, "{calls} calls");
                assert!(bounds.iter().all(|one| (one.lower_ns, one.upper_ns) == (9900.0, 10_100.0)), "{bounds:?}");
            }
        }
    }

    /// The times that are left of a loop of a barrier, work of 50 us, and a barrier, made so many times; `gap`: the
    /// time from a pair to the next one, ns; `first`: barriers before the loop.
    fn of_loop(name: &str, times: u64, gap: u64, first: u64) -> (Vec<f64>, usize) {
        let mut rank = SyntheticRank::new(0, 1);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        let mut now = 10_000;
        let mut pass = |behind: u64| {
            rank.call(barrier, now, now + 100);
            now += 100 + behind;
        };
        (0..first).for_each(|_| pass(gap));
        for number in 0..times {
            pass(50_000 + number % 7);
            pass(gap + number % 5);
        }
        let path = std::env::temp_dir().join(format!("mpitrace-{}-loop-{name}", std::process::id()));
        write(&path, &[rank]).unwrap();
        let trace = Trace::open(&[&path]).unwrap();
        std::fs::remove_file(path).unwrap();
        let (clock, operations) = (Clock::new(&trace), Operations::new(&trace));
        let (work, left_out) = Barriers::new(&trace, &clock, &operations, 0).unwrap().of_work();
        (work.iter().map(|bounds| bounds.lower_ns).collect(), left_out)
    }

    #[test]
    fn times_between_pairs_of_barriers_are_no_work() {
        for first in [0, 1] {
            let (work, left_out) = of_loop("pairs", 40, 2_000, first);
            assert_eq!((work.len(), left_out), (40, 39 + first as usize));
            assert!(work.iter().all(|ns| (50_000.0..50_007.0).contains(ns)), "{work:?}");
        }
        // Too few, and gaps that may be other work.
        assert_eq!(of_loop("few", 9, 2_000, 0).1, 0);
        assert_eq!(of_loop("alike", 40, 20_000, 0).1, 0);
    }

    #[test]
    fn a_clock_that_is_wrong_is_found_out() {
        let (trace, clock, operations) = benchmark("wrong", 5000, true);
        let barriers = Barriers::new(&trace, &clock, &operations, 0).unwrap();
        assert_eq!(barriers.bounds().filter(|(_, bounds)| bounds.verdict == Verdict::Contradicted).count(), 5);
    }

    #[test]
    fn without_barriers_there_are_no_bounds() {
        let (trace, clock, operations) = benchmark("none", 0, false);
        assert!(Barriers::new(&trace, &clock, &operations, 0).is_none());
    }
}
