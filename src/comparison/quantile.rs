//! Quantiles with intervals that rest on nothing but the order of the values.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::{CONFIDENCE, sorted};

/// A quantile and its 95 % interval, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// ns.
    pub value_ns: f64,
    /// `None` where there are too few values for one.
    pub interval_ns: Option<[f64; 2]>,
}

/// The quantile at `share` (0 to 1) of a sample, between two order statistics as R's type 7 has it, and the interval between
/// the two order statistics that leave at most 2.5 % on either side, the number of values below the quantile being binomial
/// (David and Nagaraja, Order Statistics, section 7.1). `None` for no values.
pub fn quantile(values: &[f64], share: f64) -> Option<Quantile> {
    let sorted = sorted(values);
    let last = sorted.len().checked_sub(1)?;
    let place = last as f64 * share;
    let below = (place as usize).min(last);
    let above = sorted[(below + 1).min(last)];
    let value_ns = sorted[below] + (place - below as f64) * (above - sorted[below]);
    let interval_ns = outside(sorted.len(), share).map(|[low, high]| [sorted[low], sorted[high]]);
    Some(Quantile { value_ns, interval_ns })
}

/// The indices of the two order statistics.
fn outside(n: usize, share: f64) -> Option<[usize; 2]> {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let below = Binomial::new(share, n as u64).ok()?;
    // As many as `low` values lie below the quantile in all but 2.5 % of samples: the next one is above it no more often.
    let low = first(n, |count| below.cdf(count as u64) > tail);
    let high = first(n, |count| below.sf(count as u64) <= tail);
    let low = low.checked_sub(1)?;
    (high < n && low < high).then_some([low, high])
}

/// The first of 0 ..= n that fits, all behind it fitting too.
fn first(n: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// From this many runs on the median over runs has a 95 % interval.
const RUNS: usize = 6;

/// The median over the runs of their quantiles. Its interval rests on the runs, which are independent, where there are 6 or
/// more; of fewer it reaches from the lowest end of their own intervals to the highest. `None` for no runs.
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
    fn the_median_lies_in_its_interval_in_at_least_95_of_100_samples() {
        let mut random = fastrand::Rng::with_seed(1);
        for (n, share) in [(6, 0.5), (20, 0.5), (101, 0.5), (100, 0.95), (1000, 0.95)] {
            let covered = (0..4000)
                .filter(|_| {
                    let values: Vec<f64> = (0..n).map(|_| random.f64()).collect();
                    quantile(&values, share)
                        .unwrap()
                        .interval_ns
                        .is_some_and(|[low, high]| low <= share && share <= high)
                })
                .count();
            // 4000 samples: 0.35 % is one standard deviation.
            assert!(covered >= 3760, "{covered} of 4000 for {n} and {share}");
        }
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
