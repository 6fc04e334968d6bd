//! When the ranks entered and left: the completion times of an operation.

use mpitrace_statistics::median;
use mpitrace_trace::run_time::completion_times::{CompletionTimes, NOBODY, Ordering, RankTimes};
use rayon::prelude::*;
use serde::Serialize;

use super::selection::Selection;
use crate::Ranks;

/// Medians over the repetitions that count; ns.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Completion {
    pub local_ns: Option<f64>,
    pub global_ns: Option<f64>,
    pub last_ns: Option<f64>,
    pub arrival_spread_ns: Option<f64>,
    pub exit_spread_ns: Option<f64>,
    pub last_in: Option<Most>,
    pub last_out: Option<Most>,
    /// The check that T_last <= T_loc <= T_glob, of all complete repetitions.
    pub ordering: Ordering,
}

/// A rank, and in which share of the repetitions it was, alone.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Most {
    pub rank: u32,
    pub share: f64,
}

/// The entries and exits of all ranks, with no more columns than are needed later.
#[derive(Debug, Default)]
pub struct CompletionSummary {
    /// The first entry of each repetition that counts, ns of global time.
    pub begin_ns: Vec<f64>,
    /// How often each rank entered last, alone, of those that count; by index.
    pub last_in: Vec<usize>,
    pub last_out: Vec<usize>,
    pub facts: Completion,
}

const TOGETHER: usize = 1 << 14;

impl CompletionSummary {
    pub fn new(ranks: &Ranks<'_>, selection: &Selection<'_>) -> Option<CompletionSummary> {
        if !ranks.have_stamps() {
            return None;
        }
        let count = ranks.numbers.len();
        let mut summary =
            CompletionSummary { last_in: vec![0; count], last_out: vec![0; count], ..CompletionSummary::default() };
        let middle = |column: Vec<f64>| median(&mut selection.only(column));
        // Three columns at a time: of many repetitions a column takes as much memory as the run times.
        let ([begin, global, last], looks) =
            columns(ranks, selection, |times| [times.begin_ns().to_vec(), times.global_ns(), times.last_ns()]);
        summary.begin_ns = selection.only(begin);
        let facts = &mut summary.facts;
        (facts.global_ns, facts.last_ns) = (middle(global), middle(last));
        for look in looks {
            let add = |sum: &mut [usize], more: &[usize]| sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            add(&mut summary.last_in, &look.last_in);
            add(&mut summary.last_out, &look.last_out);
            facts.ordering.checked += look.ordering.checked;
            facts.ordering.split += look.ordering.split;
            facts.ordering.violated += look.ordering.violated;
        }
        facts.last_in = most(ranks, &summary.last_in, selection);
        facts.last_out = most(ranks, &summary.last_out, selection);
        let ([local, arrival, exit], _) =
            columns(ranks, selection, |times| [times.local_ns(), times.arrival_spread_ns(), times.exit_spread_ns()]);
        (facts.local_ns, facts.arrival_spread_ns, facts.exit_spread_ns) =
            (middle(local), middle(arrival), middle(exit));
        Some(summary)
    }
}

struct Look {
    last_in: Vec<usize>,
    last_out: Vec<usize>,
    ordering: Ordering,
}

type Places<'c, const N: usize> = [Option<&'c mut [f64]>; N];

/// Columns of all complete repetitions, which are looked at piece by piece.
fn columns<const N: usize>(
    ranks: &Ranks<'_>,
    selection: &Selection<'_>,
    of: impl Fn(&CompletionTimes) -> [Vec<f64>; N] + Sync,
) -> ([Vec<f64>; N], Vec<Look>) {
    let mut columns = [(); N].map(|()| vec![0.0; selection.kept.len()]);
    let mut places = columns.each_mut().map(|column| column.chunks_mut(TOGETHER));
    let next = |kept| (kept, places.each_mut().map(Iterator::next));
    let pieces: Vec<_> = selection.kept.chunks(TOGETHER).map(next).enumerate().collect();
    let look = |(number, (kept, places)): (usize, (&[bool], Places<N>))| {
        let first = number * TOGETHER;
        let mut times = CompletionTimes::default();
        for index in 0..ranks.numbers.len() {
            if let Some([enter_ns, exit_ns, duration_ns]) = ranks.times_of(index, first..first + kept.len()) {
                times.add(RankTimes { enter_ns: &enter_ns, exit_ns: &exit_ns, duration_ns: &duration_ns });
            }
        }
        for (place, values) in places.into_iter().flatten().zip(of(&times)) {
            place.copy_from_slice(&values);
        }
        let often = |who: &[u32]| {
            let mut counts = vec![0; ranks.numbers.len()];
            let counted = who.iter().zip(kept).filter(|(rank, kept)| **kept && **rank != NOBODY);
            counted.for_each(|(&rank, _)| counts[rank as usize] += 1);
            counts
        };
        Look { last_in: often(times.last_in()), last_out: often(times.last_out()), ordering: times.ordering() }
    };
    let looks = pieces.into_par_iter().map(look).collect();
    (columns, looks)
}

fn most(ranks: &Ranks<'_>, counts: &[usize], selection: &Selection<'_>) -> Option<Most> {
    // The lowest rank of those that are as often.
    let (rank, &count) = counts.iter().enumerate().rev().max_by_key(|(_, count)| **count)?;
    let share = count as f64 / selection.run_time_ns.len() as f64;
    (count > 0).then(|| Most { rank: ranks.numbers[rank], share })
}
