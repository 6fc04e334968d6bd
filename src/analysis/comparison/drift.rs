//! Does the run time drift while a run goes on? (Hunold & Carpen-Amarie 2016, figures 4, 17 and 18)

use serde::Serialize;
use std::ops::Range;

use super::{CONFIDENCE, Quantile, mean, quantile, variance};
use crate::statistics::{ends_of_mean, median, student_quantile};

/// A group of repetitions that follow each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// The number of its first repetition.
    pub first_repetition: u64,
    /// That of its last one.
    pub last_repetition: u64,
    /// How many repetitions there are, over all runs.
    #[serde(rename = "repetitions")]
    pub count: usize,
    /// Their mean; of several runs the median of the runs' means. `None` where there is no repetition.
    pub mean: Option<Quantile>,
    /// Their median; of several runs the median of the runs' medians.
    pub median: Option<Quantile>,
}

/// The bins of one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// In the order of time.
    pub bins: Vec<Bin>,
    /// The mean of the last bin that has one over that of the first, less 1.
    pub change: Option<f64>,
    /// Whether the intervals of those two means are disjoint. `None` where one of them has no interval.
    pub drifts: Option<bool>,
}

/// Cuts the repetitions of some runs into bins of equally many numbers. A run is the numbers of its repetitions,
/// ascending, and their run times in ns.
///
/// Of one run a bin has the mean of its run times with Student's interval, and their median with that of the order
/// statistics; both take the repetitions for independent, which they are not quite. Of several runs it has the median
/// of the runs' means and medians, with the interval of the order statistics over the runs from 6 runs on.
pub fn drift(runs: &[(Vec<u64>, Vec<f64>)], bins: usize) -> Drift {
    let numbers = || runs.iter().flat_map(|(repetition, _)| repetition);
    let (first, end) = (numbers().min().copied().unwrap_or(0), numbers().max().map_or(0, |last| last + 1));
    // Beyond this many each bin would be of less than one repetition.
    let bins = (bins as u64).min(end - first);
    let edge = |bin: u64| first + (u128::from(end - first) * u128::from(bin) / u128::from(bins.max(1))) as u64;
    let bins: Vec<Bin> = (0..bins).map(|bin| one_bin(runs, edge(bin)..edge(bin + 1))).collect();
    let mut means = bins.iter().filter_map(|bin| bin.mean);
    let ends = means.next().zip(means.next_back());
    let change =
        ends.filter(|(first, _)| first.value_ns > 0.0).map(|(first, last)| last.value_ns / first.value_ns - 1.0);
    let drifts = ends.and_then(|(first, last)| {
        let ([first_low, first_high], [last_low, last_high]) = (first.interval_ns?, last.interval_ns?);
        Some(first_high < last_low || last_high < first_low)
    });
    Drift { bins, change, drifts }
}

fn one_bin(runs: &[(Vec<u64>, Vec<f64>)], repetitions: Range<u64>) -> Bin {
    let within: Vec<&[f64]> = runs
        .iter()
        .map(|(number, run_time)| {
            let index = |limit: u64| number.partition_point(|&number| number < limit);
            &run_time[index(repetitions.start)..index(repetitions.end)]
        })
        .filter(|run_time| !run_time.is_empty())
        .collect();
    let count = within.iter().map(|run_time| run_time.len()).sum();
    let (mean, median) = match &within[..] {
        [only] if runs.len() == 1 => (Some(of_mean(only)), quantile(only, 0.5)),
        several => {
            let means: Vec<f64> = several.iter().map(|run_time| mean(run_time)).collect();
            let medians = several.iter().filter_map(|run_time| median(&mut run_time.to_vec()));
            let medians: Vec<f64> = medians.collect();
            (quantile(&means, 0.5), quantile(&medians, 0.5))
        }
    };
    Bin { first_repetition: repetitions.start, last_repetition: repetitions.end.saturating_sub(1), count, mean, median }
}

/// The mean with Student's interval, or that of [`ends_of_mean`].
fn of_mean(values: &[f64]) -> Quantile {
    let n = values.len() as f64;
    let value_ns = mean(values);
    let interval_ns = student_quantile(n - 1.0, 0.5 + CONFIDENCE / 2.0).map(|quantile| {
        let reach = quantile * (variance(values) / n).sqrt();
        ends_of_mean(value_ns, reach, values.iter().copied().fold(f64::INFINITY, f64::min))
    });
    Quantile { value_ns, interval_ns }
}
