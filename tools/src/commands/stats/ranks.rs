//! The numbers of each rank.

use mpitrace::statistics::{CONFIDENCE, Description, Intervals, Sample};
use serde::Serialize;

use super::completion::CompletionSummary;
use super::selection::Selection;
use crate::source::Ranks;

/// The time that a rank spent in the calls that count, by its own clock.
#[derive(Debug, Serialize)]
pub struct RankFacts {
    pub rank: u32,
    pub repetitions: usize,
    #[serde(flatten)]
    pub description: Description,
    /// In how many of them it entered last; `None` without time stamps.
    pub last_in: Option<usize>,
    /// In how many it left last.
    pub last_out: Option<usize>,
}

/// Of each rank.
pub fn each(ranks: &Ranks<'_>, summary: Option<&CompletionSummary>, selection: &Selection<'_>) -> Vec<RankFacts> {
    let count = ranks.numbers.len();
    let of_rank = |index: usize| {
        let values = selection.only(ranks.duration_ns(index));
        let sample = Sample::new(&values);
        let intervals = Intervals::new(&values, sample.sorted(), CONFIDENCE);
        RankFacts {
            rank: ranks.numbers[index],
            repetitions: sample.len(),
            description: Description::new(&sample, [intervals.mean(), intervals.quantile(0.5)]),
            last_in: summary.map(|summary| summary.last_in[index]),
            last_out: summary.map(|summary| summary.last_out[index]),
        }
    };
    (0..count).map(of_rank).collect()
}
