//! Intervals of quantiles between order statistics: exact whatever the distribution (Conover 1999; Hoefler and Belli
//! 2015).

use crate::estimators::distributions::beta_regularised;

/// An interval, and its coverage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// The probability with which such an interval covers what it is of.
    pub coverage: f64,
}

/// Which order statistics, counted from 1, enclose the quantile at `p` of `n` independent values with this confidence
/// at least, and the coverage that they have; `None` where there are too few values.
///
/// The number of values below the quantile is binomial. Each end leaves out (1 - confidence) / 2 at most, and no
/// narrower pair does. This is the interval of `scipy.stats.quantile_test`.
///
/// ```
/// use mpitrace_statistics::interval_ranks;
///
/// // Six values are the fewest: their lowest and highest enclose the median in 62 of 64 cases.
/// let (lower, upper, coverage) = interval_ranks(6, 0.5, 0.95).expect("enough values");
/// assert_eq!((lower, upper), (1, 6));
/// assert!((coverage - 62.0 / 64.0).abs() < 1e-9);
/// assert!(interval_ranks(5, 0.5, 0.95).is_none());
/// ```
pub fn interval_ranks(n: u64, p: f64, confidence: f64) -> Option<(u64, u64, f64)> {
    if n == 0 || !(p > 0.0 && p < 1.0) || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    // P(B <= k - 1), which rises with k, and P(B >= k), which falls.
    let below = |k: u64| beta_regularised((n - k + 1) as f64, k as f64, 1.0 - p);
    let above = |k: u64| beta_regularised(k as f64, (n - k + 1) as f64, p);
    let lower = last_rank(n, |k| below(k) <= tail);
    let upper = last_rank(n, |k| above(k) > tail) + 1;
    (lower >= 1 && upper <= n && lower < upper).then(|| (lower, upper, 1.0 - below(lower) - above(upper)))
}

/// The last rank, from 1 to `n`, up to which it holds; 0: it holds for none.
fn last_rank(n: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if holds(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

/// The quantile at `p` (0 to 1) of ascending values by R's type 7 (Hyndman and Fan 1996), which NumPy has by default
/// too: linear between the order statistics around 1 + (n - 1) p. `None` for no values.
///
/// ```
/// use mpitrace_statistics::quantile;
///
/// assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.25), Some(1.75));
/// assert_eq!(quantile(&[], 0.5), None);
/// ```
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = p.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let (lower, upper) = (sorted[below], sorted[(below + 1).min(last)]);
    Some(lower + (upper - lower) * (place - below as f64))
}

/// The ranks of values, from 1, those of equal ones being their mean, and the sum of t^3 - t over groups of t equal
/// ones.
///
/// ```
/// use mpitrace_statistics::ranks;
///
/// assert_eq!(ranks(&[5.0, 7.0, 5.0]), (vec![1.5, 3.0, 1.5], 6.0));
/// ```
pub fn ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&one, &other| values[one].total_cmp(&values[other]));
    let (mut ranks, mut ties, mut below) = (vec![0.0; values.len()], 0.0, 0.0);
    for equal in order.chunk_by(|&one, &other| values[one] == values[other]) {
        let length = equal.len() as f64;
        equal.iter().for_each(|&index| ranks[index] = below + (length + 1.0) / 2.0);
        ties += length.powi(3) - length;
        below += length;
    }
    (ranks, ties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0, 3.0]), (vec![4.0, 1.0, 4.0, 2.0, 4.0], 24.0));
        assert_eq!(ranks(&[]), (vec![], 0.0));
    }

    #[test]
    fn six_values_are_the_fewest_for_the_median_and_five_are_not_enough() {
        assert_eq!(interval_ranks(5, 0.5, 0.95), None);
        let (lower, upper, coverage) = interval_ranks(6, 0.5, 0.95).unwrap();
        assert_eq!((lower, upper), (1, 6));
        assert!((coverage - (1.0 - 2.0 / 64.0)).abs() < 1e-12);
    }

    #[test]
    fn a_high_quantile_of_few_values_has_no_interval() {
        assert_eq!(interval_ranks(100, 0.99, 0.95), None);
        assert!(interval_ranks(1000, 0.99, 0.95).is_some());
    }

    #[test]
    fn a_hundred_million_values_come_as_near_as_the_normal_distribution_tells() {
        let n = 100_000_000u64;
        let (lower, upper, coverage) = interval_ranks(n, 0.5, 0.95).unwrap();
        let half = 1.959_963_985 * (n as f64 / 4.0).sqrt();
        assert!((n as f64 / 2.0 - lower as f64 - half).abs() < 2.0);
        assert!((upper as f64 - n as f64 / 2.0 - half).abs() < 2.0);
        assert!((0.95..0.9501).contains(&coverage));
    }
}
