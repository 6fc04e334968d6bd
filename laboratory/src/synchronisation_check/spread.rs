//! How far apart the ranks are.

use mpitrace_statistics::Sample;

/// From the first to the last of all ranks, over the repetitions, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub median_ns: f64,
    /// The 95th percentile.
    pub p95_ns: f64,
    /// The largest.
    pub max_ns: f64,
}

impl Spread {
    /// The spread of widths; `None` for no numbers.
    pub(super) fn new(widths: &[f64]) -> Option<Spread> {
        let sample = Sample::new(widths);
        Some(Spread { median_ns: sample.median()?, p95_ns: sample.quantile(0.95)?, max_ns: sample.maximum()? })
    }
}

/// For each repetition the time of the first and of the last rank.
pub(super) fn ends(times: &[Vec<f64>]) -> Vec<[f64; 2]> {
    let count = times.first().map_or(0, Vec::len);
    let of_row = |row: usize| {
        let row = times.iter().map(|times| times[row]);
        row.fold([f64::NAN; 2], |ends, time| [ends[0].min(time), ends[1].max(time)])
    };
    (0..count).map(of_row).collect()
}

/// For each repetition how far apart the ranks are.
pub(super) fn widths(times: &[Vec<f64>]) -> Vec<f64> {
    ends(times).into_iter().map(|[first, last]| last - first).collect()
}
