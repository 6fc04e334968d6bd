//! The numbers of each rank.

use mpitrace::completion_times::CompletionTimes;
use mpitrace::statistics::{Intervals, Sample};
use serde::Serialize;

use super::completion::how_often;
use super::numbers::Description;
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
pub fn of(
    ranks: &Ranks<'_>,
    times: Option<&CompletionTimes>,
    selection: &Selection<'_>,
    confidence: f64,
) -> Vec<RankFacts> {
    let count = ranks.numbers.len();
    let often = |who: &[u32]| how_often(count, &selection.only(who.to_vec()));
    let last_in = times.map(|times| often(times.last_in()));
    let last_out = times.map(|times| often(times.last_out()));
    let of_rank = |index: usize| {
        let values = selection.only(ranks.duration_ns(index));
        let sample = Sample::new(&values);
        let intervals = Intervals::of(&values, sample.sorted(), confidence);
        RankFacts {
            rank: ranks.numbers[index],
            repetitions: sample.len(),
            description: Description::of(&sample, [intervals.mean(), intervals.quantile(0.5)]),
            last_in: last_in.as_ref().map(|counts| counts[index]),
            last_out: last_out.as_ref().map(|counts| counts[index]),
        }
    };
    (0..count).map(of_rank).collect()
}
