//! The time of one rank: the whole run, and what of it was spent in collective calls.

use mpitrace_format::layout::{OPERATION_MASK, OperationEntry};

use crate::clock::{Clock, RankClock};
use crate::parallel;
use crate::reader::{Part, Trace};

/// The time of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankAccount {
    /// The world rank.
    pub rank: u32,
    /// From MPI_Init to MPI_Finalize, ns; of a rank whose end is not known to the last that is known of it.
    pub wall_ns: f64,
    /// Whether it has finished.
    pub end_is_known: bool,
    /// In collective calls, ns, also in those that were not kept and whose times were counted: when threads are in kept
    /// calls at the same time, or one call completes several requests, it counts once.
    pub collectives_ns: f64,
}

/// Those of all parts.
pub(super) fn accounts(trace: &Trace, clock: &Clock) -> Vec<RankAccount> {
    let parts = trace.parts.iter().enumerate().map(|(index, part)| (part, clock.of_part(index)));
    parallel::map(parts.collect(), |(part, clock)| of(part, clock))
}

fn of(part: &Part, clock: &RankClock) -> RankAccount {
    let info = part.info();
    let last = part.last_tick().max(info.last_anchor.tick);
    let wall_ns = clock.duration_ns(info.first_anchor.tick, last.max(info.first_anchor.tick));
    let collectives_ns = clock.ticks_ns(in_collectives(part) + not_kept(part)).min(wall_ns);
    RankAccount { rank: part.rank(), wall_ns, collectives_ns, end_is_known: !part.incomplete() }
}

/// Ticks of the collective calls that were not kept.
fn not_kept(part: &Part) -> u64 {
    part.operations().iter().filter(|entry| !entry.is_region()).fold(0, |sum, entry| sum.saturating_add(entry.ticks))
}

/// Ticks at which at least one thread was in a kept collective call, or in a call that started, tested or waited for one.
fn in_collectives(part: &Part) -> u64 {
    let mut union = Union::default();
    if for_each_span(part, |begin, end| union.add(begin, end)) {
        return union.sum;
    }
    let mut spans = Vec::new();
    for_each_span(part, |begin, end| {
        spans.push((begin, end));
        true
    });
    spans.sort_unstable();
    let mut union = Union::default();
    spans.into_iter().for_each(|(begin, end)| {
        union.add(begin, end);
    });
    union.sum
}

/// The ticks from which to which a rank was in its calls, until one is refused: then false.
fn for_each_span(part: &Part, mut add: impl FnMut(u64, u64) -> bool) -> bool {
    let has_regions = part.operations().iter().any(OperationEntry::is_region);
    let is_region = |operation: u32| part.operations()[(operation & OPERATION_MASK) as usize].is_region();
    let requests = part.request_columns().map(|[init, _, wait, _]| [init, wait]);
    for block in part.blocks() {
        let [enter, exit] = block.times();
        let operations = if has_regions { block.operation() } else { Vec::new() };
        for (place, (enter, exit)) in enter.into_iter().zip(exit).enumerate() {
            if operations.get(place).is_some_and(|&operation| is_region(operation)) {
                continue;
            }
            let record = block.range.start + place;
            let request =
                requests.map(|columns| columns.map(|column| column.get(record))).filter(|[init, _]| *init > 0);
            let spans = match request {
                // Where its tests lie is not known; they are short.
                Some([init, wait]) => [(enter, enter + init), (exit.saturating_sub(wait), exit)],
                None => [(enter, exit), (exit, exit)],
            };
            if !spans.into_iter().all(|(begin, end)| begin >= end || add(begin, end)) {
                return false;
            }
        }
    }
    true
}

/// The length of the union of spans.
#[derive(Default)]
struct Union {
    sum: u64,
    last: u64,
    until: u64,
}

impl Union {
    /// False: it begins before the one before it, and was not added.
    fn add(&mut self, begin: u64, end: u64) -> bool {
        if begin < self.last {
            return false;
        }
        self.last = begin;
        self.sum += end.saturating_sub(begin.max(self.until));
        self.until = self.until.max(end);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Union;

    fn union(spans: &[(u64, u64)]) -> Option<u64> {
        let mut union = Union::default();
        spans.iter().all(|&(begin, end)| union.add(begin, end)).then_some(union.sum)
    }

    #[test]
    fn what_overlaps_counts_once() {
        assert_eq!(union(&[(0, 10), (5, 12), (6, 7), (20, 21)]), Some(13));
        assert_eq!(union(&[(5, 10), (0, 3)]), None);
        assert_eq!(union(&[]), Some(0));
    }
}
