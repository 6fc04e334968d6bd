//! How far counters and timers go along with the run time (Roth 2021, 3.4 and figure 4.3).

use mpitrace_source::{Counter, Source};
use mpitrace_statistics::{pearson, spearman};
use serde::Serialize;

/// The coefficients of a metric and the time that the same rank spent in the same repetition.
#[derive(Debug, Serialize)]
pub struct Correlation {
    counter: String,
    /// `None`: the pairs of all ranks together.
    rank: Option<u32>,
    /// One for each repetition on each rank.
    pairs: usize,
    pearson: Option<f64>,
    spearman: Option<f64>,
}

/// Of each metric of an operation, over all ranks and on each.
pub fn correlations(source: &Source, operation: usize) -> Vec<Correlation> {
    let ranks = source.ranks(operation);
    let times: Vec<Vec<f64>> = (0..ranks.numbers.len()).map(|index| ranks.duration_ns(index)).collect();
    let of_counter = |counter: &Counter<'_>| {
        let columns: Vec<Option<Vec<f64>>> = (0..times.len()).map(|index| counter.values(index)).collect();
        let known = || columns.iter().zip(&times).filter_map(|(values, times)| Some((values.as_ref()?, times)));
        let (values, all_times): (Vec<f64>, Vec<f64>) =
            known().flat_map(|(values, times)| values.iter().copied().zip(times.iter().copied())).unzip();
        let correlation = |rank: Option<u32>, values: &[f64], times: &[f64]| Correlation {
            counter: counter.name.clone(),
            rank,
            pairs: values.iter().zip(times).filter(|(value, time)| value.is_finite() && time.is_finite()).count(),
            pearson: pearson(values, times),
            spearman: spearman(values, times),
        };
        let mut found = vec![correlation(None, &values, &all_times)];
        let each = ranks.numbers.iter().zip(columns.iter().zip(&times));
        found
            .extend(each.filter_map(|(rank, (values, times))| Some(correlation(Some(*rank), values.as_ref()?, times))));
        found
    };
    source.counters(operation).iter().flat_map(of_counter).collect()
}
