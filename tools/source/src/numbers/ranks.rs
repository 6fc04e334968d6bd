//! The numbers of each rank.

use mpitrace_statistics::{CONFIDENCE, Description, Intervals, Sample, moments, tukey_fences};
use serde::Serialize;

use super::completion::CompletionSummary;
use super::selection::Selection;
use crate::Ranks;

/// The time that a rank spent in the calls that count, by its own clock.
#[derive(Debug, Serialize)]
pub struct RankFacts {
    /// World rank.
    pub rank: u32,
    /// Repetitions that count.
    pub repetitions: usize,
    /// The statistics of its run times, ns.
    #[serde(flatten)]
    pub description: Description,
    /// In how many of them it entered last; `None` without time stamps.
    pub last_in: Option<usize>,
    /// In how many of them it left last; `None` without time stamps.
    pub last_out: Option<usize>,
    /// How much later than the first one it left in the mean, ns, without the repetitions in which that is outside of
    /// Tukey's fences (Hunold & Carpen-Amarie 2016, 3.5 and figure 10).
    pub exit_after_first_ns: Option<f64>,
    /// The interval of that mean, ns.
    pub exit_after_first_interval_ns: Option<[f64; 2]>,
}

pub fn each(ranks: &Ranks<'_>, summary: Option<&CompletionSummary>, selection: &Selection<'_>) -> Vec<RankFacts> {
    let count = ranks.numbers.len();
    let exits: Option<Vec<Vec<f64>>> =
        (0..count).map(|index| ranks.exit_ns(index).map(|column| selection.only(column))).collect();
    let first: Vec<f64> = match exits.as_deref() {
        Some(all @ [one, ..]) => {
            let of_row = |row| all.iter().map(|exit: &Vec<f64>| exit[row]).fold(f64::INFINITY, f64::min);
            (0..one.len()).map(of_row).collect()
        }
        _ => Vec::new(),
    };
    let of_rank = |index: usize| {
        let values = selection.only(ranks.duration_ns(index));
        let sample = Sample::new(&values);
        let intervals = Intervals::new(&values, sample.sorted(), CONFIDENCE);
        let exit = exits.as_ref().and_then(|exits| after(&exits[index], &first));
        RankFacts {
            rank: ranks.numbers[index],
            repetitions: sample.len(),
            description: Description::new(&sample, [intervals.mean(), intervals.quantile(0.5)]),
            last_in: summary.map(|summary| summary.last_in[index]),
            last_out: summary.map(|summary| summary.last_out[index]),
            exit_after_first_ns: exit.map(|(mean, _)| mean),
            exit_after_first_interval_ns: exit.and_then(|(_, interval)| interval),
        }
    };
    (0..count).map(of_rank).collect()
}

fn after(exit_ns: &[f64], first_ns: &[f64]) -> Option<(f64, Option<[f64; 2]>)> {
    let after: Vec<f64> = exit_ns.iter().zip(first_ns).map(|(exit, first)| exit - first).collect();
    let [lower, upper] = tukey_fences(&Sample::new(&after))?;
    let usual: Vec<f64> = after.into_iter().filter(|after| (lower..=upper).contains(after)).collect();
    let interval = Intervals::new(&usual, Sample::new(&usual).sorted(), CONFIDENCE).mean();
    Some((moments(&usual)?.mean, interval.map(|interval| [interval.lower, interval.upper])))
}

#[cfg(test)]
mod tests {
    use super::after;

    /// 100 to 104 ns later than the first rank, and once 5000 ns and once not at all: Tukey's fences leave both out.
    #[test]
    fn a_rank_that_leaves_unusually_early_does_not_count_either() {
        let mut exit: Vec<f64> = (0..100).map(|i| 100.0 + f64::from(i % 5)).collect();
        assert_eq!(after(&exit, &[0.0; 100]).unwrap().0, 102.0);
        exit.extend([5000.0, 0.0]);
        assert_eq!(after(&exit, &[0.0; 102]).unwrap().0, 102.0);
    }
}
