//! When the ranks came and went: the completion times of an operation, and what barriers around it tell.

use mpitrace::completion_times::{Barriers, CompletionTimes, NOBODY, RankTimes, Verdict};
use mpitrace::statistics::median;
use serde::Serialize;

use super::selection::Selection;
use crate::source::{Ranks, Source};

/// Medians over the repetitions that count; ns.
#[derive(Debug, Serialize)]
pub struct Completion {
    pub local_ns: Option<f64>,
    pub global_ns: Option<f64>,
    pub last_ns: Option<f64>,
    pub arrival_spread_ns: Option<f64>,
    pub exit_spread_ns: Option<f64>,
    /// The rank that entered last most often.
    pub last_in: Option<Most>,
    /// The one that left last most often.
    pub last_out: Option<Most>,
    /// Whether T_last <= T_loc <= T_glob.
    pub ordering: OrderingFacts,
    /// Bounds by barriers before and behind the operation, which need no global clock.
    pub barriers: Option<BarrierFacts>,
}

/// A rank, and in which share of the repetitions it was, alone.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Most {
    pub rank: u32,
    pub share: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct OrderingFacts {
    pub checked: usize,
    /// Not checked: a clock stepped within the call.
    pub split: usize,
    pub violated: usize,
}

/// McCalpin's bounds, medians over the repetitions that have barriers on both sides; ns.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BarrierFacts {
    pub repetitions: usize,
    pub lower_ns: Option<f64>,
    pub global_ns: Option<f64>,
    pub upper_ns: Option<f64>,
    /// Repetitions whose global time lies outside of its bounds.
    pub contradicted: usize,
    /// By more than the stated errors of the clocks.
    pub contradicted_with_errors: usize,
}

/// The completion times of all complete repetitions; `None` without time stamps.
pub fn times(ranks: &Ranks<'_>) -> Option<CompletionTimes> {
    if !ranks.have_stamps() {
        return None;
    }
    let mut times = CompletionTimes::new();
    for index in 0..ranks.numbers.len() {
        // Those of one rank at a time.
        let (enter_ns, exit_ns) = (ranks.enter_ns(index)?, ranks.exit_ns(index)?);
        let duration_ns = ranks.duration_ns(index);
        times.add(RankTimes { enter_ns: &enter_ns, exit_ns: &exit_ns, duration_ns: &duration_ns });
    }
    Some(times)
}

impl Completion {
    /// Of the repetitions that count.
    pub fn of(
        source: &Source,
        number: usize,
        ranks: &Ranks<'_>,
        times: &CompletionTimes,
        selection: &Selection<'_>,
    ) -> Completion {
        let middle = |column: Vec<f64>| median(&mut selection.only(column));
        let ordering = times.ordering();
        Completion {
            local_ns: middle(times.local_ns()),
            global_ns: middle(times.global_ns()),
            last_ns: middle(times.last_ns()),
            arrival_spread_ns: middle(times.arrival_spread_ns()),
            exit_spread_ns: middle(times.exit_spread_ns()),
            last_in: most(ranks, &selection.only(times.last_in().to_vec())),
            last_out: most(ranks, &selection.only(times.last_out().to_vec())),
            ordering: OrderingFacts { checked: ordering.checked, split: ordering.split, violated: ordering.violated },
            barriers: barriers(source, number, selection),
        }
    }
}

/// How often each rank is among `who`, by index.
pub fn how_often(ranks: usize, who: &[u32]) -> Vec<usize> {
    let mut counts = vec![0; ranks];
    who.iter().filter(|&&rank| rank != NOBODY).for_each(|&rank| counts[rank as usize] += 1);
    counts
}

fn most(ranks: &Ranks<'_>, who: &[u32]) -> Option<Most> {
    let counts = how_often(ranks.numbers.len(), who);
    // The lowest rank of those that are as often.
    let (rank, &count) = counts.iter().enumerate().rev().max_by_key(|(_, count)| **count)?;
    (count > 0).then(|| Most { rank: ranks.numbers[rank], share: count as f64 / who.len() as f64 })
}

fn barriers(source: &Source, number: usize, selection: &Selection<'_>) -> Option<BarrierFacts> {
    let traced = source.traced()?;
    let barriers = Barriers::of(&traced.trace, &traced.clock, &traced.operations, number)?;
    let complete = traced.operations.operations[number].complete_rows();
    let counting: Vec<usize> = complete.zip(&selection.kept).filter(|(_, kept)| **kept).map(|(row, _)| row).collect();
    let (mut lower, mut global, mut upper) = (Vec::new(), Vec::new(), Vec::new());
    let (mut contradicted, mut contradicted_with_errors) = (0, 0);
    for (_, bounds) in barriers.bounds().filter(|(row, _)| counting.binary_search(row).is_ok()) {
        lower.push(bounds.lower_ns);
        global.push(bounds.global_ns);
        upper.push(bounds.upper_ns);
        contradicted += usize::from(bounds.verdict != Verdict::Held);
        contradicted_with_errors += usize::from(bounds.verdict == Verdict::Contradicted);
    }
    (!lower.is_empty()).then(|| BarrierFacts {
        repetitions: lower.len(),
        lower_ns: median(&mut lower),
        global_ns: median(&mut global),
        upper_ns: median(&mut upper),
        contradicted,
        contradicted_with_errors,
    })
}
