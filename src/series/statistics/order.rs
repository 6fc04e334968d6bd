//! Intervals of quantiles between order statistics: exact whatever the distribution (Conover 1999; Hoefler and Belli
//! 2015).

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

/// Further from its mean, in standard deviations, a binomial variable has less than 1e-15 in each tail.
const REACH: f64 = 9.0;

/// Which order statistics, counted from 1, enclose the quantile at `p` of `n` independent values with this confidence
/// at least, and the coverage that they have; `None` where there are too few values.
///
/// The number of values below the quantile is binomial. Each end leaves out (1 - confidence) / 2 at most, and no
/// narrower pair does. This is the interval of `scipy.stats.quantile_test`.
pub fn interval_ranks(n: u64, p: f64, confidence: f64) -> Option<(u64, u64, f64)> {
    if n == 0 || !(p > 0.0 && p < 1.0) || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let binomial = Binomial::new(n, p);
    // P(B <= lower - 1) <= tail, for the largest such rank.
    let mut below = 0.0;
    let mut lower = binomial.first;
    for probability in &binomial.probability {
        if below + probability > tail {
            break;
        }
        below += probability;
        lower += 1;
    }
    // P(B >= upper) <= tail, for the smallest.
    let mut above = 0.0;
    let mut upper = binomial.first + binomial.probability.len() as u64;
    for probability in binomial.probability.iter().rev() {
        if above + probability > tail {
            break;
        }
        above += probability;
        upper -= 1;
    }
    (lower >= 1 && upper <= n && lower < upper).then_some((lower, upper, 1.0 - below - above))
}

/// The quantile at `p` (0 to 1) of ascending values by R's type 7 (Hyndman and Fan 1996), which NumPy has by default
/// too: linear between the order statistics around 1 + (n - 1) p. `None` for no values.
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = p.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let (lower, upper) = (sorted[below], sorted[(below + 1).min(last)]);
    Some(lower + (upper - lower) * (place - below as f64))
}

/// The probabilities of a binomial variable where they are above 1e-18 or so.
struct Binomial {
    first: u64,
    probability: Vec<f64>,
}

impl Binomial {
    /// By recurrence from the mode outwards, and divided by their sum: no logarithm of a factorial loses digits, and it
    /// takes some 18 sqrt(n p q) steps, 90 000 for 10^8 values.
    fn new(n: u64, p: f64) -> Self {
        let (size, q) = (n as f64, 1.0 - p);
        let mode = (((n + 1) as f64) * p).floor().min(size) as u64;
        let reach = (REACH * (size * p * q).sqrt()).ceil() as u64 + 20;
        let (first, last) = (mode.saturating_sub(reach), (mode + reach).min(n));
        let mut probability = vec![0.0; (last - first + 1) as usize];
        let at = |k: u64| (k - first) as usize;
        probability[at(mode)] = 1.0;
        for k in mode..last {
            probability[at(k + 1)] = probability[at(k)] * ((n - k) as f64 * p) / ((k + 1) as f64 * q);
        }
        for k in (first..mode).rev() {
            probability[at(k)] = probability[at(k + 1)] * ((k + 1) as f64 * q) / ((n - k) as f64 * p);
        }
        let sum: f64 = probability.iter().sum();
        probability.iter_mut().for_each(|value| *value /= sum);
        Binomial { first, probability }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
