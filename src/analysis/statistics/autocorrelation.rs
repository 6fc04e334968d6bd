//! How much the repetitions depend on each other, and how many independent ones they are worth.

use std::borrow::Cow;

use rayon::prelude::*;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{Sample, moments};

/// The test of Ljung and Box (1978) that all autocorrelations up to a lag are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LjungBox {
    /// Up to this lag.
    pub lags: usize,
    /// Q = n (n + 2) sum r_k^2 / (n - k).
    pub statistic: f64,
    /// The probability of such a Q or a larger one for independent values: chi-squared with `lags` degrees of freedom.
    pub p: f64,
}

/// What a series of dependent values is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dependence {
    /// How many independent values would give a mean as exact: n / (1 + 2 sum r_k).
    pub effective: f64,
    /// Whether the correlation died out within the series; if not, `effective` is too high.
    pub settled: bool,
    /// How many values the correlation lasts: the mean lag, weighted by the correlation at each, from 1 on. phi^k lasts
    /// 1 / (1 - phi) values, whatever noise lies over it.
    pub time: f64,
}

/// Lags looked at before a series is averaged in blocks, where most are done already.
const LAGS: usize = 8;
/// Lags looked at of a series that is too short for blocks.
const LAST_LAGS: usize = 64;
/// Values averaged in a block.
const BLOCK: usize = 4;
/// Values that stay in the processor's cache while all lags are taken of them.
const TILE: usize = 2048;

/// r_1 to r_lags: autocovariances over n, divided by the variance over n, as R's `acf` and statsmodels have them. Empty
/// for fewer than two values and for values that are all equal; lags of n and more are left out.
pub fn autocorrelation(values: &[f64], lags: usize) -> Vec<f64> {
    let Some(moments) = moments(values) else { return Vec::new() };
    if values.len() < 2 || moments.standard_deviation.is_none_or(|deviation| deviation == 0.0) {
        return Vec::new();
    }
    let lags = lags.min(values.len() - 1);
    let tiles = (0..values.len().div_ceil(TILE)).into_par_iter().with_min_len(8).map(|tile| {
        let start = tile * TILE;
        let until = |end: usize| end.min(values.len());
        let centred: Vec<f64> = values[start..until(start + TILE + lags)].iter().map(|x| x - moments.mean).collect();
        let here = &centred[..until(start + TILE) - start];
        let at = |lag: usize| product(here, centred.get(lag..).unwrap_or_default());
        (0..=lags).map(at).collect::<Vec<f64>>()
    });
    let add = |mut sums: Vec<f64>, tile: Vec<f64>| {
        sums.iter_mut().zip(tile).for_each(|(sum, value)| *sum += value);
        sums
    };
    // In the order of the tiles, so that the same series always gives the same sums.
    let sums = tiles.collect::<Vec<_>>().into_iter().reduce(add).unwrap_or_default();
    sums[1..].iter().map(|product| product / sums[0]).collect()
}

/// The sum of the products of two series, the longer cut to the shorter.
fn product(left: &[f64], right: &[f64]) -> f64 {
    // Eight sums side by side: a single one would wait for each addition before the next.
    let mut sums = [0.0; 8];
    let n = left.len().min(right.len());
    let (left, right) = (&left[..n], &right[..n]);
    let (left_eights, left_rest) = left.as_chunks::<8>();
    let (right_eights, right_rest) = right.as_chunks::<8>();
    for (a, b) in left_eights.iter().zip(right_eights) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: f64 = left_rest.iter().zip(right_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// The test over the autocorrelations r_1, r_2 ... of `n` values. `None` where there are none.
pub fn ljung_box(autocorrelation: &[f64], n: usize) -> Option<LjungBox> {
    let (lags, n) = (autocorrelation.len(), n as f64);
    if lags == 0 {
        return None;
    }
    let terms = autocorrelation.iter().enumerate().map(|(index, r)| r * r / (n - (index + 1) as f64));
    let statistic = n * (n + 2.0) * terms.sum::<f64>();
    let p = ChiSquared::new(lags as f64).ok()?.sf(statistic);
    Some(LjungBox { lags, statistic, p })
}

/// Lags at which independence is tested, ...
const TESTED_LAGS: usize = 10;
/// ... of a short series one for so many values.
const VALUES_A_LAG: usize = 5;
/// The p-value at which independence is denied: the distribution of the statistic is that of long series, and short ones
/// go beyond it a little more often.
const DENIED: f64 = 0.03;

/// Whether the values depend on each other, as far as the test of Ljung and Box over 10 lags at most sees: fewer than 5 %
/// of series of independent values are said to. `sample` is the same, sorted.
///
/// Values beyond the quantiles at 5 and 95 % are taken for these (Winsorised), so that a few huge ones do not decide.
pub fn are_dependent(values: &[f64], sample: &Sample) -> bool {
    let (Some(low), Some(high), Some(median)) = (sample.quantile(0.05), sample.quantile(0.95), sample.median()) else {
        return false;
    };
    let within: Vec<f64> = match low < high {
        true => values.par_iter().map(|value| value.clamp(low, high)).collect(),
        false => values.par_iter().map(|&value| f64::from(u8::from(value <= median))).collect(),
    };
    let lags = TESTED_LAGS.min(values.len() / VALUES_A_LAG);
    ljung_box(&autocorrelation(&within, lags), values.len()).is_some_and(|test| test.p <= DENIED)
}

/// How many independent values a series is worth.
///
/// The sum of the autocorrelations is Geyer's (1992) initial monotone sequence: it ends before the first pair r_2k +
/// r_(2k+1) that is not positive, and no pair counts more than the one before. Where that takes more than 8 lags, means
/// of 4 values each are looked at instead: the variance of the mean of all is the same, and the cost stays that of few
/// lags. Never more than n: negatively correlated values are better than independent ones, but that is not relied on.
/// `None` for fewer than 4 values, or all equal.
pub fn dependence(values: &[f64]) -> Option<Dependence> {
    let n = values.len() as f64;
    let variance = moments(values)?.standard_deviation?.powi(2);
    if values.len() < 4 || variance == 0.0 {
        return None;
    }
    let mut blocks = Cow::Borrowed(values);
    loop {
        let own = moments(&blocks)?.standard_deviation?.powi(2);
        if own == 0.0 {
            // All blocks are equal: the correlation within them is all that there is.
            return Some(Dependence { effective: n, settled: true, time: 1.0 });
        }
        let last = blocks.len() < 4 * LAST_LAGS;
        let lags = if last { LAST_LAGS.min(blocks.len() / 2) } else { LAGS };
        let mut found = autocorrelation(&blocks, lags);
        found.insert(0, 1.0);
        // A pair that the last lag leaves single is none.
        let pairs: Vec<f64> = found.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect();
        let end = pairs.iter().position(|pair| *pair <= 0.0);
        if end.is_some() || last {
            let mut smallest = f64::INFINITY;
            let monotone = pairs[..end.unwrap_or(pairs.len())].iter().map(|pair| {
                smallest = smallest.min(*pair);
                smallest
            });
            let factor = (2.0 * monotone.sum::<f64>() - 1.0).max(f64::MIN_POSITIVE);
            let of_mean = own * factor / blocks.len() as f64;
            let effective = (variance / of_mean).clamp(1.0, n);
            let lags = 2 * end.unwrap_or(pairs.len());
            let length = (values.len() / blocks.len()) as f64;
            let time = length * centre(&found[1..lags.max(1)]);
            return Some(Dependence { effective, settled: end.is_some(), time });
        }
        let means = blocks.par_chunks_exact(BLOCK).map(|block| block.iter().sum::<f64>() / BLOCK as f64).collect();
        blocks = Cow::Owned(means);
    }
}

/// The mean lag of positive autocorrelations r_1, r_2 ..., weighted by them; 1 where they add up to next to nothing.
fn centre(autocorrelation: &[f64]) -> f64 {
    let (mut sum, mut moment) = (0.0, 0.0);
    for (lag, r) in (1..).zip(autocorrelation) {
        sum += r;
        moment += f64::from(lag) * r;
    }
    if sum > 0.1 { (moment / sum).max(1.0) } else { 1.0 }
}

/// The same for the quantile at `value`: of the series of 0 and 1 that tells which values are not above it. That is
/// what the binomial number behind an order-statistic interval is a sum of, and a few huge values cannot hide the
/// dependence of the others in it.
pub fn dependence_of_quantile(values: &[f64], value: f64) -> Option<Dependence> {
    let below: Vec<f64> = values.par_iter().map(|&other| f64::from(u8::from(other <= value))).collect();
    dependence(&below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Random;

    /// x_i = phi x_(i-1) + noise: worth n (1 - phi) / (1 + phi).
    fn autoregressive(n: usize, phi: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut x = 0.0;
        (0..n)
            .map(|_| {
                x = phi * x + random.normal();
                x
            })
            .collect()
    }

    #[test]
    fn too_few_and_equal_values_have_no_autocorrelation() {
        assert!(autocorrelation(&[], 5).is_empty());
        assert!(autocorrelation(&[1.0], 5).is_empty());
        assert!(autocorrelation(&[2.0; 50], 5).is_empty());
        assert_eq!(ljung_box(&[], 10), None);
        assert_eq!(dependence(&[2.0; 50]), None);
    }

    #[test]
    fn correlated_values_are_worth_as_many_as_theory_tells() {
        for (phi, n) in [(0.0, 20_000), (0.5, 20_000), (0.9, 100_000), (0.99, 400_000)] {
            let found: Vec<f64> =
                (0..5).map(|seed| dependence(&autoregressive(n, phi, seed)).unwrap().effective / n as f64).collect();
            let mean = found.iter().sum::<f64>() / found.len() as f64;
            let expected = (1.0 - phi) / (1.0 + phi);
            // At 0.99 the estimates scatter by 12 % and are 5 % low on average (60 series).
            assert!((mean / expected - 1.0).abs() < 0.2, "phi {phi}: {mean}, not {expected}");
        }
    }

    #[test]
    fn huge_values_do_not_hide_the_dependence_of_the_others() {
        let mut values = autoregressive(20_000, 0.9, 1);
        values.iter_mut().step_by(97).for_each(|value| *value += 1000.0);
        let of_mean = dependence(&values).unwrap().effective;
        let of_median = dependence_of_quantile(&values, 0.0).unwrap().effective;
        assert!(of_mean > 15_000.0 && of_median < 3000.0, "{of_mean}, {of_median}");
    }

    #[test]
    fn a_trend_over_the_whole_series_never_settles_or_leaves_next_to_nothing() {
        let trend: Vec<f64> = (0..1000).map(f64::from).collect();
        let found = dependence(&trend).unwrap();
        assert!(!found.settled || found.effective < 10.0, "{found:?}");
    }

    #[test]
    fn dependence_is_said_of_dependent_values_only() {
        let said = |values: &[f64]| are_dependent(values, &Sample::new(values));
        let count = |phi: f64| (0..200).filter(|&seed| said(&autoregressive(100, phi, seed))).count();
        assert!(count(0.0) <= 14, "{}", count(0.0));
        assert!(count(0.5) >= 180, "{}", count(0.5));
        let mut huge = autoregressive(1000, 0.5, 1);
        huge.iter_mut().step_by(97).for_each(|value| *value += 1000.0);
        assert!(said(&huge));
        assert!(!said(&[5.0; 100]) && !said(&[]));
    }

    #[test]
    fn independent_values_pass_the_test_and_dependent_ones_do_not() {
        assert!(ljung_box(&autocorrelation(&autoregressive(1000, 0.0, 1), 10), 1000).unwrap().p > 0.01);
        assert!(ljung_box(&autocorrelation(&autoregressive(1000, 0.3, 1), 10), 1000).unwrap().p < 1e-6);
    }
}
