//! Tests of dependence between the values of a series.

use crate::parallel;
use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor};

use super::{Sample, autocorrelation, block_means, cosine_powers};

/// The test of Ljung and Box (1978) that all autocorrelations up to a lag are 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LjungBox {
    /// Up to this lag.
    pub lags: usize,
    /// Q = n (n + 2) sum r_k^2 / (n - k).
    pub statistic: f64,
    /// The probability of such a Q or a larger one for independent values: chi-squared with `lags` degrees of freedom.
    pub p: f64,
}

/// The test over the autocorrelations r_1, r_2 ... of `n` values. `None` where there are none.
///
/// ```
/// use mpitrace_statistics::ljung_box;
///
/// assert!(ljung_box(&[0.9, 0.8], 100).is_some_and(|test| test.p < 1e-6 && test.lags == 2));
/// assert!(ljung_box(&[0.01, -0.02], 100).is_some_and(|test| test.p > 0.5));
/// assert!(ljung_box(&[], 100).is_none());
/// ```
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
/// The p-value at which independence is denied: the distribution of the statistic is that of long series, and short
/// ones go beyond it a little more often.
const DENIED: f64 = 0.03;

/// True if the values depend on each other, as far as the test of Ljung and Box over 10 lags at most sees. Fewer than
/// 5 % of series of independent values are said to. `sample` is the same, sorted.
///
/// Values beyond the quantiles at 5 and 95 % are taken for these (Winsorised), so that a few huge ones do not decide.
///
/// ```
/// use mpitrace_statistics::{Sample, are_dependent};
///
/// let wave: Vec<f64> = (0..500).map(|i| (f64::from(i) / 40.0).sin()).collect();
/// assert!(are_dependent(&wave, &Sample::new(&wave)));
/// ```
pub fn are_dependent(values: &[f64], sample: &Sample) -> bool {
    let (Some(low), Some(high), Some(median)) = (sample.quantile(0.05), sample.quantile(0.95), sample.median()) else {
        return false;
    };
    let within = match low < high {
        true => parallel::filled(values.len(), |index| values[index].clamp(low, high)),
        false => parallel::filled(values.len(), |index| f64::from(u8::from(values[index] <= median))),
    };
    let lags = TESTED_LAGS.min(values.len() / VALUES_A_LAG);
    ljung_box(&autocorrelation(&within, lags), values.len()).is_some_and(|test| test.p <= DENIED)
}

/// Cosines whose periods are as long as the series, and those that they are held against.
const LONGEST: usize = 8;
const LONG: usize = 72;
/// The p-value from which on dependence is said to last as long as the series.
const LASTING: f64 = 0.02;

/// True if values that depend on each other ([`are_dependent`]) do so over the whole series, as far as can be seen. The
/// longest waves hold more of the variance than shorter ones do. Such a series may have long memory, and its intervals
/// hold less often than they say; or it is too short. `sample` is the same, sorted.
///
/// ```
/// use mpitrace_statistics::{Sample, dependence_lasts};
///
/// let drift: Vec<f64> = (0..500).map(|i| f64::from(i) + f64::from(i % 7)).collect();
/// assert!(dependence_lasts(&drift, &Sample::new(&drift)));
/// ```
pub fn dependence_lasts(values: &[f64], sample: &Sample) -> bool {
    let Some(median) = sample.median() else { return false };
    let below = block_means(values, |value| f64::from(u8::from(value <= median)));
    if below.len() < 2 * LONG {
        return false;
    }
    let powers = cosine_powers(&below, LONG);
    let mean = |powers: &[f64]| powers.iter().sum::<f64>() / powers.len() as f64;
    let (longest, others) = (mean(&powers[..LONGEST]), mean(&powers[LONGEST..]));
    let Ok(fisher) = FisherSnedecor::new(LONGEST as f64, (LONG - LONGEST) as f64) else { return false };
    others > 0.0 && fisher.sf(longest / others) <= LASTING
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

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
        assert_eq!(ljung_box(&[], 10), None);
        assert!(ljung_box(&autocorrelation(&autoregressive(1000, 0.0, 1), 10), 1000).unwrap().p > 0.01);
        assert!(ljung_box(&autocorrelation(&autoregressive(1000, 0.3, 1), 10), 1000).unwrap().p < 1e-6);
    }

    #[test]
    fn a_trend_lasts_and_a_short_memory_does_not() {
        let lasts = |values: &[f64]| dependence_lasts(values, &Sample::new(values));
        assert!(lasts(&(0..1000).map(f64::from).collect::<Vec<f64>>()));
        assert!(!lasts(&autoregressive(1000, 0.5, 1)));
        assert!(!lasts(&[7.0; 100]) && !lasts(&[]) && !lasts(&[1.0, 2.0, 3.0]));
    }
}
