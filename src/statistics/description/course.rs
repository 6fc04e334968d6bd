//! The course of run times while a run goes on: their mean and median by bins, and whether they drift (Hunold and
//! Carpen-Amarie 2016, figures 4, 17, 18 and 38 to 40).

use serde::Serialize;

use super::{CONFIDENCE, Intervals, Sample, moments};
use crate::estimators::distributions::normal_tail;

/// Bins of a course, of a long series, and repetitions that a bin has at least.
pub const BINS: usize = 20;
const LEAST_OF_A_BIN: usize = 10;
/// Bins of which a trend is tested, at least: of fewer no order is rare.
const FEWEST: usize = 8;

/// Repetitions that follow each other. Times in ns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// The number of its first repetition.
    pub first_repetition: u64,
    /// The number of its last one.
    pub last_repetition: u64,
    /// How many repetitions there are.
    pub repetitions: usize,
    /// Their mean.
    pub mean_ns: f64,
    /// Its interval, which allows for dependent repetitions; `None`: there are too few.
    pub mean_interval_ns: Option<[f64; 2]>,
    /// Their median.
    pub median_ns: f64,
    /// Its interval, as of the mean.
    pub median_interval_ns: Option<[f64; 2]>,
}

/// The bins of a series in the order of time, with the test of Mann and Kendall on their medians.
///
/// ```
/// use mpitrace_statistics::Course;
///
/// // 2000 to 2400 ns, rising.
/// let run_time_ns: Vec<f64> = (0..400).map(|i| 2000.0 + f64::from(i) + f64::from(i * 7919 % 101)).collect();
/// let course = Course::new(&(0..400).collect::<Vec<u64>>(), &run_time_ns);
/// assert_eq!((course.bins.len(), course.bins[0].repetitions), (20, 20));
/// assert!(course.change.is_some_and(|change| change > 0.15) && course.p.is_some_and(|p| p < 1e-6));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Course {
    /// 20 of equally many repetitions, of fewer than 200 repetitions of 10 each; empty for no repetition.
    pub bins: Vec<Bin>,
    /// The median of the last bin over that of the first, less 1. `None`: there are not two, or the first is 0.
    pub change: Option<f64>,
    /// Kendall's tau-b of the bins' medians and their order: 1 if each is slower than the one before, -1 if each is
    /// faster. `None` for fewer than 8 bins and for equal ones.
    pub tau: Option<f64>,
    /// The probability of a tau as far from 0 without a trend, two-sided (Mann 1945; normal approximation, with the
    /// variance of tied medians). It takes bins for independent: repetitions may depend on each other within a bin.
    pub p: Option<f64>,
}

impl Course {
    /// The course of finite run times in ns of the repetitions with these numbers, ascending.
    pub fn new(repetition: &[u64], run_time_ns: &[f64]) -> Course {
        let n = run_time_ns.len();
        let count = (n / LEAST_OF_A_BIN).clamp(1, BINS).min(n);
        let range = |bin: usize| n * bin / count..n * (bin + 1) / count;
        let bins: Vec<Bin> =
            (0..count).map(|bin| Bin::new(&repetition[range(bin)], &run_time_ns[range(bin)])).collect();
        let medians: Vec<f64> = bins.iter().map(|bin| bin.median_ns).collect();
        let change = match medians[..] {
            [first, .., last] if first > 0.0 => Some(last / first - 1.0),
            _ => None,
        };
        let (tau, p) = if count < FEWEST { None } else { trend(&medians) }.unzip();
        Course { bins, change, tau, p }
    }
}

impl Bin {
    fn new(repetition: &[u64], run_time_ns: &[f64]) -> Bin {
        let sample = Sample::new(run_time_ns);
        let intervals = Intervals::new(run_time_ns, sample.sorted(), CONFIDENCE);
        let ends = |interval: Option<super::Interval>| interval.map(|found| [found.lower, found.upper]);
        Bin {
            first_repetition: repetition[0],
            last_repetition: repetition[repetition.len() - 1],
            repetitions: repetition.len(),
            mean_ns: moments(run_time_ns).map_or(f64::NAN, |moments| moments.mean),
            mean_interval_ns: ends(intervals.mean()),
            median_ns: sample.median().unwrap_or(f64::NAN),
            median_interval_ns: ends(intervals.quantile(0.5)),
        }
    }
}

/// Kendall's tau-b of values and their order, and its p. `None` for equal values.
fn trend(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let pairs = n * (n - 1.0) / 2.0;
    let mut score = 0.0;
    for (at, one) in values.iter().enumerate() {
        score +=
            values[at + 1..].iter().map(|other| f64::from(i8::from(other > one) - i8::from(other < one))).sum::<f64>();
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let tied: Vec<f64> = sorted.chunk_by(|a, b| a == b).map(|equal| equal.len() as f64).collect();
    let tied_pairs: f64 = tied.iter().map(|t| t * (t - 1.0) / 2.0).sum();
    let of_ties: f64 = tied.iter().map(|t| t * (t - 1.0) * (2.0 * t + 5.0)).sum();
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - of_ties) / 18.0;
    if variance <= 0.0 || tied_pairs >= pairs {
        return None;
    }
    Some((score / (pairs * (pairs - tied_pairs)).sqrt(), 2.0 * normal_tail(score.abs() / variance.sqrt())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    /// scipy.stats.kendalltau(range(8), values, method="asymptotic") of SciPy 1.17.1.
    #[test]
    fn the_test_is_that_of_scipy() {
        for (values, tau, p) in [
            ([10.0, 14.2, 9.1, 90.3, 21.0, 26.5, 22.2, 11.0], 0.214_285_714_285_714_27, 0.457_901_055_440_254_94),
            ([1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 5.0, 4.0], 0.848_668_424_791_505_5, 0.004_734_864_859_576_419),
        ] {
            let found = trend(&values).unwrap();
            assert!((found.0 - tau).abs() < 1e-12 && (found.1 - p).abs() < 1e-12, "{found:?}");
        }
        assert_eq!(trend(&[4.0; 9]), None);
    }

    #[test]
    fn noise_drifts_in_one_of_twenty_series_and_a_drift_is_seen() {
        let numbers: Vec<u64> = (0..1000).collect();
        let drifting = |drift: f64| {
            let mut random = Random::new(5);
            let series = |_| -> Vec<f64> {
                (0..1000).map(|i| 1000.0 * (1.0 + 0.05 * random.normal() + drift * f64::from(i) / 1000.0)).collect()
            };
            let all: Vec<Vec<f64>> = (0..200).map(series).collect();
            all.iter().filter(|x| Course::new(&numbers, x).p.unwrap() <= 0.05).count()
        };
        let none = drifting(0.0);
        assert!((3..=18).contains(&none), "{none} of 200");
        // The deviation of a bin's median is 1.2533 x 5 % / sqrt 50 = 0.89 %; a rise by 3 % over 20 bins is 4.4
        // deviations of a fitted slope, of which the test sees 97 of 100 or more.
        let seen = drifting(0.03);
        assert!(seen > 190, "{seen} of 200");
    }

    #[test]
    fn bins_hold_all_repetitions_and_few_ones_have_few_bins() {
        let numbers: Vec<u64> = (5..1010).collect();
        let x: Vec<f64> = numbers.iter().map(|&number| 100.0 + (number % 7) as f64).collect();
        let course = Course::new(&numbers, &x);
        assert_eq!(course.bins.len(), BINS);
        assert_eq!(course.bins.iter().map(|bin| bin.repetitions).sum::<usize>(), 1005);
        assert_eq!((course.bins[0].first_repetition, course.bins[19].last_repetition), (5, 1009));
        assert!(
            course
                .bins
                .iter()
                .all(|bin| bin.median_interval_ns.is_some_and(|[low, high]| low <= 103.0 && 103.0 <= high))
        );
        let short = Course::new(&numbers[..25], &x[..25]);
        assert_eq!((short.bins.len(), short.tau), (2, None));
        assert_eq!(Course::new(&[3], &[7.0]).bins[0].median_ns, 7.0);
        assert_eq!(Course::new(&[], &[]), Course::default());
    }
}
