//! Quantiles with intervals that rest on nothing but the order of the values.

use super::CONFIDENCE;
use crate::Sample;
use serde::Serialize;

/// A quantile and its 95 % interval, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantile {
    /// ns.
    pub value_ns: f64,
    /// `None` where there are too few values for one.
    pub interval_ns: Option<[f64; 2]>,
}

/// The quantile at `share` (0 to 1) of a sample in ns, in any order, and its interval between two order statistics.
/// `None` for no values.
///
/// ```
/// use mpitrace_statistics::comparison::quantile;
///
/// let ns: Vec<f64> = (1..=101).map(f64::from).collect();
/// let median = quantile(&ns, 0.5).expect("values");
/// assert_eq!(median.value_ns, 51.0);
/// assert!(median.interval_ns.is_some_and(|[lower, upper]| lower > 35.0 && upper < 65.0));
/// assert!(quantile(&[], 0.5).is_none());
/// ```
pub fn quantile(values: &[f64], share: f64) -> Option<Quantile> {
    quantile_of_sample(&Sample::new(values), share)
}

pub(super) fn quantile_of_sample(sample: &Sample, share: f64) -> Option<Quantile> {
    let interval = sample.quantile_interval(share, CONFIDENCE);
    let interval_ns = interval.map(|interval| [interval.lower, interval.upper]);
    Some(Quantile { value_ns: sample.quantile(share)?, interval_ns })
}

/// From this many runs on the median over runs has a 95 % interval.
const RUNS: usize = 6;

/// The median over the runs of their quantiles. Its interval rests on the runs, which are independent, where there are
/// 6 or more; of fewer it reaches from the lowest end of their own intervals to the highest. `None` for no runs.
///
/// ```
/// use mpitrace_statistics::comparison::{over_runs, quantile};
///
/// let runs = [5.0, 6.0, 7.0].map(|ns| quantile(&[ns; 9], 0.5).expect("values"));
/// let over = over_runs(&runs).expect("runs");
/// assert_eq!((over.value_ns, over.interval_ns), (6.0, Some([5.0, 7.0])));
/// ```
pub fn over_runs(runs: &[Quantile]) -> Option<Quantile> {
    let values: Vec<f64> = runs.iter().map(|run| run.value_ns).collect();
    let over = quantile(&values, 0.5)?;
    if runs.len() >= RUNS {
        return Some(over);
    }
    let intervals: Option<Vec<[f64; 2]>> = runs.iter().map(|run| run.interval_ns).collect();
    let interval_ns = intervals.map(|intervals| {
        let low = intervals.iter().map(|interval| interval[0]).fold(f64::INFINITY, f64::min);
        [low, intervals.iter().map(|interval| interval[1]).fold(f64::NEG_INFINITY, f64::max)]
    });
    Some(Quantile { interval_ns, ..over })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_median_begins_with_six_values() {
        let of = |n: usize| quantile(&(1..=n).map(|i| i as f64).collect::<Vec<_>>(), 0.5).unwrap();
        assert_eq!(of(5), Quantile { value_ns: 3.0, interval_ns: None });
        // 1 - 2/64 = 0.969.
        assert_eq!(of(6), Quantile { value_ns: 3.5, interval_ns: Some([1.0, 6.0]) });
        // The table of Conover, Practical Nonparametric Statistics: the 6th and the 15th of 20, 95.9 %.
        assert_eq!(of(20).interval_ns, Some([6.0, 15.0]));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_interval_of_the_95th_percentile_begins_with_72_values() {
        // 0.95^72 = 0.0249: more seldom than in 2.5 % of samples do all values lie below it.
        let has =
            |n: usize| quantile(&(0..n).map(|i| i as f64).collect::<Vec<_>>(), 0.95).unwrap().interval_ns.is_some();
        assert_eq!((1..200).find(|&n| has(n)), Some(72));
    }

    #[test]
    fn few_runs_have_the_hull_of_their_intervals_and_many_their_own() {
        let run = |value_ns: f64| Quantile { value_ns, interval_ns: Some([value_ns - 1.0, value_ns + 1.0]) };
        let few: Vec<Quantile> = [5.0, 3.0].map(run).into();
        assert_eq!(over_runs(&few), Some(Quantile { value_ns: 4.0, interval_ns: Some([2.0, 6.0]) }));
        let many: Vec<Quantile> = [1.0, 2.0, 3.0, 4.0, 5.0, 9.0].map(run).into();
        assert_eq!(over_runs(&many), Some(Quantile { value_ns: 3.5, interval_ns: Some([1.0, 9.0]) }));
        let without = Quantile { value_ns: 1.0, interval_ns: None };
        assert_eq!(over_runs(&[few[0], without]).unwrap().interval_ns, None);
        assert_eq!(over_runs(&[]), None);
    }
}
