//! The work of a rank's other threads while the one that called MPI_Init is blocked.
//!
//! A thread that waits for another one (pthread_join, a lock) does not sleep as far as the rank is concerned: the other
//! one is in MPI, or computes. Where it is known when the one was blocked and when the other one was in MPI, their
//! common time is bounded gap by gap, else in sums: of times A and B within a time T at least A + B - T and at most the
//! shorter one are common. The middle counts.

use mpitrace_format::layout::{InterruptionEntry, NO_RECORD, interruption_flags, off_reason};
use mpitrace_trace::clock::RankClock;
use mpitrace_trace::reader::Part;

use super::parts::Parts;
use super::rank_parts::{CALLS, RankPart, RankParts};
use super::spans::{Span, spans};
use super::thread::Thread;

/// The parts of a thread's time outside of MPI that it has while another one waits for it.
const OUTSIDE: [RankPart; 3] = [RankPart::Computing, RankPart::Preempted, RankPart::Throttled];

/// Shorter sleeps are not looked at one by one, ns.
const SHORT: u64 = 50_000;

/// The time of a rank's other threads, which make MPI calls, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beside {
    /// Their time in MPI; of several threads at the same time each counts.
    pub mpi_ns: f64,
    /// While they were in MPI the thread that called MPI_Init was blocked outside of MPI for so long at least ...
    pub in_mpi_least_ns: f64,
    /// ... and at most.
    pub in_mpi_most_ns: f64,
    /// While they computed it was blocked for so long at least ...
    pub computing_least_ns: f64,
    /// ... and at most.
    pub computing_most_ns: f64,
    /// The time for which the thread that called MPI_Init was off its processor, and which counts as what the other
    /// threads did.
    pub counted_ns: f64,
}

/// At least and at most, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    least: f64,
    most: f64,
}

impl Bounds {
    /// The bounds of the common time of two times within another one.
    fn common(one: f64, other: f64, within: f64) -> Bounds {
        let most = one.min(other).max(0.0);
        Bounds { least: (one + other - within).clamp(0.0, most), most }
    }

    fn middle(self) -> f64 {
        f64::midpoint(self.least, self.most)
    }
}

impl Beside {
    /// For so long the thread that called MPI_Init may have waited for the others beyond what is counted, ns.
    pub(super) fn uncounted_ns(&self) -> f64 {
        (self.in_mpi_most_ns + self.computing_most_ns - self.counted_ns).max(0.0)
    }

    /// Counts time in which the thread that called MPI_Init was blocked as what the other threads did. `complete` are
    /// the parts of their collective calls.
    pub(super) fn count(part: &Part, clock: &RankClock, complete: Parts, parts: &mut RankParts) -> Beside {
        let main = part.main_thread();
        let others = (0..part.threads().len() as u32).filter(|&thread| thread != main);
        let mut calls = [0.0; CALLS.len()];
        let mut outside = [0.0; OUTSIDE.len()];
        let mut all = Vec::new();
        let mut beside = Beside::default();
        for thread in others {
            let own = spans(part, Some(thread));
            let last_exit = own.last().map_or(0, |span| span.end);
            let in_collectives = clock.ticks_ns(own.iter().map(Span::ticks).sum());
            all.extend(own);
            let Some((of_thread, whole)) = Thread::beside(part, clock, thread as usize, last_exit) else { continue };
            let divided = of_thread.divide(whole, in_collectives, Parts::default());
            CALLS.iter().zip(&mut calls).for_each(|((_, part), sum)| *sum += divided[*part]);
            beside.mpi_ns += divided.sum_of(&RankPart::MPI);
            OUTSIDE.iter().zip(&mut outside).for_each(|(part, sum)| *sum += divided[*part]);
        }
        let all = Span::union(all);
        let all_ns = clock.ticks_ns(all.iter().map(Span::ticks).sum());
        let blocked = parts[RankPart::Asleep];
        if beside.mpi_ns + outside.iter().sum::<f64>() <= 0.0 || blocked <= 0.0 {
            return beside;
        }
        let mut left = Left { blocked, within: parts.running() };
        let in_collectives = left.gap_by_gap(part, clock, &all, all_ns);
        let sum: f64 = calls.iter().sum();
        let in_calls = left.take(sum);
        let [computed, others @ ..] = outside.map(|ns| left.take(ns));
        let shares = [
            (RankPart::Waiting, complete.waiting),
            (RankPart::Interrupted, complete.interrupted),
            (RankPart::Perturbed, complete.perturbed),
        ];
        let scale = in_collectives.middle() / complete.run_time.max(1.0);
        parts[RankPart::Communication] += in_collectives.middle();
        for (part, ns) in shares {
            let ns = if complete.run_time > 0.0 { scale * ns } else { 0.0 };
            parts[part] += ns;
            parts[RankPart::Communication] -= ns;
        }
        CALLS.iter().zip(calls).for_each(|(&(_, part), ns)| parts[part] += in_calls.middle() * ns / sum.max(1.0));
        OUTSIDE.into_iter().zip([computed].into_iter().chain(others)).for_each(|(part, ns)| parts[part] += ns.middle());
        parts[RankPart::Asleep] = left.blocked;
        Beside {
            in_mpi_least_ns: in_collectives.least + in_calls.least,
            in_mpi_most_ns: in_collectives.most + in_calls.most,
            computing_least_ns: computed.least,
            computing_most_ns: computed.most,
            counted_ns: blocked - left.blocked - others.into_iter().map(Bounds::middle).sum::<f64>(),
            ..beside
        }
    }
}

/// The time for which the thread that called MPI_Init is blocked, and the time in which it is, as far as these are not
/// counted as something else; ns.
struct Left {
    blocked: f64,
    within: f64,
}

impl Left {
    /// The common time with this one.
    fn take(&mut self, ns: f64) -> Bounds {
        let bounds = Bounds::common(self.blocked, ns, self.within);
        self.blocked -= bounds.middle();
        self.within -= bounds.middle();
        bounds
    }

    /// The common time with these spans, which take `all_ns`, by the gaps between the calls of the thread.
    fn gap_by_gap(&mut self, part: &Part, clock: &RankClock, spans: &[Span], all_ns: f64) -> Bounds {
        let (mut sum, mut listed) = (Bounds::default(), Left { blocked: 0.0, within: 0.0 });
        let mut seen = 0.0;
        for (gap, asleep) in sleeps(part) {
            let whole = clock.ticks_ns(gap.ticks());
            // Its last interruption may have been seen behind the call that ends it.
            let asleep = asleep.min(whole);
            let inside = clock.ticks_ns(gap.common(spans));
            let bounds = Bounds::common(asleep, inside, whole);
            sum = Bounds { least: sum.least + bounds.least, most: sum.most + bounds.most };
            (listed.blocked, listed.within, seen) = (listed.blocked + asleep, listed.within + whole, seen + inside);
        }
        // Short sleeps, and those that the table had no room for.
        let unlisted = (self.blocked - listed.blocked).max(0.0);
        let within = (self.within - listed.within).max(unlisted);
        let rest = Bounds::common(unlisted, (all_ns - seen).max(0.0), within);
        sum = Bounds { least: sum.least + rest.least, most: (sum.most + rest.most).min(self.blocked) };
        self.blocked -= sum.middle();
        self.within -= sum.middle();
        sum
    }
}

/// The times between the calls of the thread that called MPI_Init in which it slept, with for how long, ns.
fn sleeps(part: &Part) -> Vec<(Span, f64)> {
    let main = part.main_thread();
    let init = part.info().first_anchor.tick.saturating_add(part.rank_times().init);
    let end = part.finalize_enter().unwrap_or(part.info().last_anchor.tick);
    let mut found: Vec<(Span, f64)> = Vec::new();
    let is_sleep = |entry: &&InterruptionEntry| {
        let is_outside = entry.flags & (interruption_flags::BETWEEN | interruption_flags::WAITING);
        entry.thread == main && is_outside == interruption_flags::BETWEEN
    };
    for entry in part.interruptions().iter().filter(is_sleep) {
        let asleep = entry.off_by_reason()[off_reason::ASLEEP];
        if asleep < SHORT {
            continue;
        }
        let begin = own_before(part, entry.record).map_or(init, |record| part.times_of(record).1);
        let end = if entry.record == NO_RECORD { end } else { part.times_of(entry.record as usize).0 };
        let gap = Span { begin, end: end.max(begin) };
        match found.last_mut().filter(|(last, _)| *last == gap) {
            Some((_, ns)) => *ns += asleep as f64,
            None => found.push((gap, asleep as f64)),
        }
    }
    found
}

/// The last record of the thread that called MPI_Init before this one, or before all.
fn own_before(part: &Part, record: u64) -> Option<usize> {
    let runs = part.thread_runs();
    let until = runs.partition_point(|run| run.behind <= record);
    let begin = |at: usize| at.checked_sub(1).map_or(0, |before| runs[before].behind);
    if until < runs.len() && begin(until) < record {
        return Some(record as usize - 1);
    }
    let last = (0..until).rev().find(|&at| !runs[at].is_beside && begin(at) < runs[at].behind)?;
    Some(runs[last].behind as usize - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_time_of_two_times_is_bounded() {
        let common = |one: f64, other: f64, within: f64| {
            let bounds = Bounds::common(one, other, within);
            [bounds.least, bounds.middle(), bounds.most]
        };
        assert_eq!(common(90.0, 80.0, 100.0), [70.0, 75.0, 80.0]);
        assert_eq!(common(10.0, 80.0, 100.0), [0.0, 5.0, 10.0]);
        assert_eq!(common(100.0, 80.0, 100.0), [80.0, 80.0, 80.0]);
        assert_eq!(common(0.0, 80.0, 100.0), [0.0, 0.0, 0.0]);
        assert_eq!(common(120.0, 80.0, 100.0), [80.0, 80.0, 80.0], "a time that is longer than the whole");
    }

    #[test]
    fn what_is_counted_once_is_not_counted_again() {
        let mut left = Left { blocked: 100.0, within: 100.0 };
        assert_eq!(left.take(60.0).middle(), 60.0);
        assert_eq!(left.take(60.0).middle(), 40.0);
        assert_eq!((left.blocked, left.take(60.0).middle()), (0.0, 0.0));
    }
}
