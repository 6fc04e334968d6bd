//! Operations over the whole run, with the calls that were not kept.
//!
//! A rank knows that a call was made that it did not keep and, by a histogram of its operation, how long it took. The
//! calls that were kept are put into the same buckets, so that a quantile of all is within 1 % of the exact one. Calls
//! are of single ranks: what was not kept is not matched.

use std::collections::{BTreeMap, HashSet};

use mpitrace_format::layout::*;

use serde::{Serialize, Serializer};

use crate::clock::{Clock, RankClock};
use crate::operations::Operations;
use crate::reader::{Part, Trace};

/// The quantiles that outputs state; the last one is the maximum.
pub const QUANTILES: [f64; 7] = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

/// All calls of an operation of which some rank did not keep all.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AllCalls {
    /// Its number.
    pub operation: usize,
    /// The plain C name.
    pub function: String,
    /// The communicator's name.
    pub communicator: String,
    /// The largest message size of any rank, bytes. `None`: no rank could tell.
    pub bytes: Option<u64>,
    /// It is a region of the program.
    #[serde(skip)]
    pub is_region: bool,
    /// On all ranks together.
    #[serde(flatten)]
    pub all: Counted,
    /// On the ranks that called it, in order.
    pub per_rank: Vec<RankCalls>,
}

/// All calls of an operation on one rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankCalls {
    /// The world rank.
    pub rank: u32,
    /// Its calls.
    #[serde(flatten)]
    pub counted: Counted,
}

/// Calls, of which some were not kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counted {
    /// Calls begun.
    pub calls: u64,
    /// Calls whose records are in the trace.
    pub kept: u64,
    /// Calls without a record whose times were counted.
    pub timed: u64,
    /// The time that the kept and the timed calls took, ns.
    pub sum_ns: f64,
    /// How long so many of these took, ns, ascending. Empty where they share a histogram with other operations. Outputs
    /// have its [`QUANTILES`].
    #[serde(rename = "quantiles", serialize_with = "quantiles")]
    distribution: Vec<(f64, u64)>,
}

/// A quantile, as outputs have it.
#[derive(Serialize)]
struct Quantile {
    p: f64,
    value_ns: f64,
}

fn quantiles<S: Serializer>(distribution: &[(f64, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(QUANTILES.iter().filter_map(|&p| Some(Quantile { p, value_ns: quantile(distribution, p)? })))
}

/// The operations of which some rank did not keep all calls, in order.
///
/// ```
/// # use mpitrace_testing::synthetic::{self, SyntheticRank};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.mpitrace");
/// use mpitrace_trace::calls::whole_run::all_calls;
/// use mpitrace_trace::{clock::Clock, operations::Operations, reader::Trace};
///
/// let mut rank = SyntheticRank::new(0, 1);
/// let barrier = rank.operation("MPI_Barrier", 0, 0);
/// rank.call(barrier, 1000, 3000);
/// rank.timed_call(barrier, 9000);
/// synthetic::write(&path, &[rank])?;
///
/// let trace = Trace::open(&[path])?;
/// let found = all_calls(&trace, &Operations::new(&trace), &Clock::new(&trace));
/// assert_eq!((found[0].all.calls, found[0].all.kept, found[0].all.timed), (2, 1, 1));
/// assert_eq!(found[0].all.sum_ns, 11_000.0);
/// assert!(found[0].all.quantile_ns(1.0).is_some_and(|ns| (8_900.0..9_100.0).contains(&ns)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn all_calls(trace: &Trace, operations: &Operations, clock: &Clock) -> Vec<AllCalls> {
    if !trace.lacks_calls() {
        return Vec::new();
    }
    let kept: Vec<Vec<u64>> = trace.parts.iter().map(kept).collect();
    let of = |&(part, entry): &(u32, u32)| &trace.parts[part as usize].operations()[entry as usize];
    let is_lacking = |at: &(u32, u32)| of(at).calls > kept[at.0 as usize][at.1 as usize];
    // One that ranks have in several operations counts in the first.
    let mut counted = HashSet::new();
    let mut all: Vec<AllCalls> = Vec::new();
    let mut by_part: BTreeMap<usize, Vec<Wanted>> = BTreeMap::new();
    for (number, operation) in operations.operations.iter().enumerate() {
        let entries = operation.entries.iter().copied().filter(|at| of(at).calls > 0 && counted.insert(*at));
        let entries: Vec<(u32, u32)> = entries.collect();
        if !entries.iter().any(is_lacking) {
            continue;
        }
        let is_separate = entries.iter().all(|at| !is_lacking(at) || of(at).histogram > SHARED_HISTOGRAM);
        for (part, entry) in entries.into_iter().map(|(part, entry)| (part as usize, entry)) {
            let kept = kept[part][entry as usize];
            by_part.entry(part).or_default().push(Wanted { place: all.len(), entry, kept, is_separate });
        }
        let key = &operation.key;
        all.push(AllCalls {
            operation: number,
            function: key.function.clone(),
            communicator: operations.communicators[key.communicator].name.clone(),
            bytes: key.bytes,
            is_region: key.is_region,
            all: Counted::default(),
            per_rank: Vec::new(),
        });
    }
    for (part, wanted) in by_part {
        for (place, calls) in calls_of_part(&trace.parts[part], clock.of_part(part), &wanted) {
            all[place].add(calls);
        }
    }
    for one in &mut all {
        one.all = Counted::sum(one.per_rank.iter().map(|rank| &rank.counted));
    }
    all
}

/// An operation of a part, of which all calls are wanted.
struct Wanted {
    place: usize,
    entry: u32,
    kept: u64,
    /// All of its calls without a record are in a histogram of its own.
    is_separate: bool,
}

impl AllCalls {
    /// Adds what a rank has; it may have several operations that are one for all ranks.
    fn add(&mut self, calls: RankCalls) {
        match self.per_rank.last_mut().filter(|last| last.rank == calls.rank) {
            Some(same) => same.counted = Counted::sum([&same.counted, &calls.counted].into_iter()),
            None => self.per_rank.push(calls),
        }
    }
}

impl Counted {
    /// The sum over several ranks or operations. It has no distribution where one of them has none.
    fn sum<'c>(all: impl Iterator<Item = &'c Counted> + Clone) -> Counted {
        let is_known = all.clone().all(|one| !one.distribution.is_empty());
        Counted {
            calls: all.clone().map(|one| one.calls).sum(),
            kept: all.clone().map(|one| one.kept).sum(),
            timed: all.clone().map(|one| one.timed).sum(),
            sum_ns: all.clone().map(|one| one.sum_ns).sum(),
            distribution: if is_known { merged(all.map(|one| &one.distribution)) } else { Vec::new() },
        }
    }

    /// The run time of single calls at a quantile (0 to 1), ns; `None` where it is not known.
    pub fn quantile_ns(&self, p: f64) -> Option<f64> {
        quantile(&self.distribution, p)
    }
}

/// The value below which a share `p` of the calls lies: the smallest one that so many do not exceed.
fn quantile(distribution: &[(f64, u64)], p: f64) -> Option<f64> {
    let all: u64 = distribution.iter().map(|(_, calls)| calls).sum();
    let wanted = ((p * all as f64).ceil() as u64).max(1);
    let mut before = 0;
    let at = distribution.iter().find(|(_, calls)| {
        before += calls;
        before >= wanted
    });
    at.or(distribution.last()).map(|(value, _)| *value)
}

fn merged<'d>(distributions: impl Iterator<Item = &'d Vec<(f64, u64)>>) -> Vec<(f64, u64)> {
    let mut all: Vec<(f64, u64)> = distributions.flatten().copied().collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    all
}

/// How many calls of each operation a part has kept.
fn kept(part: &Part) -> Vec<u64> {
    let mut kept = vec![0; part.operations().len()];
    for block in part.blocks() {
        block.operation().iter().for_each(|operation| kept[(operation & OPERATION_MASK) as usize] += 1);
    }
    kept
}

/// All calls of these operations on one rank, by place.
fn calls_of_part(part: &Part, clock: &RankClock, wanted: &[Wanted]) -> Vec<(usize, RankCalls)> {
    let entries = part.operations();
    let mut slots: Vec<Option<usize>> = vec![None; entries.len()];
    let mut ticks: Vec<u64> = wanted.iter().map(|wanted| entries[wanted.entry as usize].ticks).collect();
    let mut buckets: Vec<Vec<u64>> = Vec::with_capacity(wanted.len());
    for (slot, &Wanted { entry, is_separate, .. }) in wanted.iter().enumerate() {
        slots[entry as usize] = Some(slot);
        let mut calls = vec![0; if is_separate { BUCKETS } else { 0 }];
        let histogram = entries[entry as usize].histogram;
        if is_separate && histogram > SHARED_HISTOGRAM {
            let all = part.histograms();
            let first = all.partition_point(|entry| entry.histogram < histogram);
            let of_it = all[first..].iter().take_while(|entry| entry.histogram == histogram);
            of_it.for_each(|entry| calls[entry.bucket as usize] += entry.calls);
        }
        buckets.push(calls);
    }
    let operations = part.blocks().flat_map(|block| block.operation());
    for (operation, (enter, exit)) in operations.zip(part.all_times()) {
        let Some(slot) = slots[(operation & OPERATION_MASK) as usize].filter(|_| exit != 0) else { continue };
        let took = exit.saturating_sub(enter);
        ticks[slot] = ticks[slot].wrapping_add(took);
        if let Some(calls) = buckets[slot].get_mut(bucket_of(took)) {
            *calls += 1;
        }
    }
    let calls_of = |slot: usize| {
        let Wanted { place, entry, kept, .. } = wanted[slot];
        let entry = &entries[entry as usize];
        // Without memory for a row its calls are in no bucket.
        let in_buckets: u64 = buckets[slot].iter().sum();
        let is_whole = in_buckets.saturating_mul(100) >= entry.timed.saturating_mul(99);
        let filled = buckets[slot].iter().enumerate().filter(|(_, calls)| is_whole && **calls > 0);
        let tick_ns = clock.ticks_ns(1 << 20) / f64::from(1 << 20);
        let counted = Counted {
            calls: entry.calls,
            kept,
            timed: entry.timed,
            sum_ns: ticks[slot] as f64 * tick_ns,
            distribution: filled.map(|(bucket, &calls)| (middle_of(bucket) * tick_ns, calls)).collect(),
        };
        (place, RankCalls { rank: part.rank(), counted })
    };
    (0..wanted.len()).map(calls_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    const RANKS: u32 = 2;

    /// Calls that take a known time each; of every operation the first `kept` ones are kept.
    fn ranks(calls: &[(u32, u64)], kept: usize) -> Vec<SyntheticRank> {
        let make = |number: u32| {
            let mut rank = SyntheticRank::new(number, RANKS);
            let operations = ["MPI_Barrier", "MPI_Bcast"].map(|function| rank.operation(function, 0, 8));
            let mut enter = 1000;
            for (index, &(operation, ticks)) in calls.iter().enumerate() {
                let (operation, ticks) = (operations[operation as usize], ticks + u64::from(number));
                if index < kept {
                    rank.call(operation, enter, enter + ticks)
                } else {
                    rank.timed_call(operation, ticks)
                }
                enter += ticks + 100;
            }
            rank
        };
        (0..RANKS).map(make).collect()
    }

    fn all_calls(calls: &[(u32, u64)], kept: usize) -> Vec<AllCalls> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mpitrace");
        synthetic::write(&path, &ranks(calls, kept)).unwrap();
        let trace = Trace::open(&[path]).unwrap();
        super::all_calls(&trace, &Operations::new(&trace), &Clock::new(&trace))
    }

    /// Run times between 10 and some 10^9 ticks, in no order.
    fn series(calls: usize) -> Vec<(u32, u64)> {
        let of = |call: usize| {
            let mixed = (call as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (u32::from(call.is_multiple_of(5)), 10 + (mixed >> 34) % (1 << (4 + call % 27)))
        };
        (0..calls).map(of).collect()
    }

    #[test]
    fn counts_and_sums_are_exact_and_quantiles_within_one_percent_of_a_full_trace() {
        let calls = series(4000);
        for kept in [0, 1, 500] {
            let found = all_calls(&calls, kept);
            assert_eq!(found.len(), 2);
            for all in &found {
                let is_of = |call: &&(u32, u64)| call.0 == u32::from(all.function == "MPI_Bcast");
                let exact: Vec<u64> = calls.iter().filter(is_of).map(|call| call.1).collect();
                assert_eq!(all.all.calls, u64::from(RANKS) * exact.len() as u64, "{} with {kept} kept", all.function);
                assert_eq!(all.all.kept + all.all.timed, all.all.calls);
                let sum: u64 = (0..RANKS).flat_map(|rank| exact.iter().map(move |took| took + u64::from(rank))).sum();
                assert!((all.all.sum_ns - sum as f64).abs() <= 1e-6 * sum as f64, "{} for {sum}", all.all.sum_ns);
                for rank in &all.per_rank {
                    let mut exact: Vec<u64> = exact.iter().map(|took| took + u64::from(rank.rank)).collect();
                    exact.sort_unstable();
                    for p in [0.0, 0.05, 0.5, 0.95, 0.99, 1.0] {
                        let at = ((p * exact.len() as f64).ceil() as usize).max(1) - 1;
                        let (found, exact) = (rank.counted.quantile_ns(p).unwrap(), exact[at] as f64);
                        assert!((found - exact).abs() <= 0.01 * exact, "{found} for {exact} at {p}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_trace_with_all_calls_has_nothing_to_add() {
        assert_eq!(all_calls(&series(100), 100), []);
    }
}
