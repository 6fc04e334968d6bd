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
    let has_regions = part.operations().iter().any(OperationEntry::is_region);
    let is_region = |record: usize| {
        has_regions && part.operations()[(part.operation_of(record) & OPERATION_MASK) as usize].is_region()
    };
    let requests = part.request_columns().map(|[init, _, wait, _]| [init, wait]);
    let of_call = |(record, (enter, exit)): (usize, (u64, u64))| {
        let request = requests.map(|columns| columns.map(|column| column.get(record))).filter(|[init, _]| *init > 0);
        match request {
            // Where its tests lie is not known; they are short.
            Some([init, wait]) => [(enter, enter + init), (exit.saturating_sub(wait), exit)],
            None => [(enter, exit), (exit, exit)],
        }
    };
    let calls = || part.all_times().enumerate().filter(|(record, _)| !is_region(*record));
    let spans = || calls().flat_map(of_call).filter(|(begin, end)| begin < end);
    union(spans()).unwrap_or_else(|| {
        let mut sorted: Vec<(u64, u64)> = spans().collect();
        sorted.sort_unstable();
        union(sorted.into_iter()).unwrap_or(0)
    })
}

/// The length of the union of spans; `None`: their beginnings are not in order.
fn union(spans: impl Iterator<Item = (u64, u64)>) -> Option<u64> {
    let (mut sum, mut last, mut until) = (0u64, 0, 0);
    for (begin, end) in spans {
        if begin < last {
            return None;
        }
        last = begin;
        sum += end.saturating_sub(begin.max(until));
        until = until.max(end);
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::union;

    #[test]
    fn what_overlaps_counts_once() {
        assert_eq!(union([(0, 10), (5, 12), (6, 7), (20, 21)].into_iter()), Some(13));
        assert_eq!(union([(5, 10), (0, 3)].into_iter()), None);
        assert_eq!(union(std::iter::empty()), Some(0));
    }
}
