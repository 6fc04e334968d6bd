//! The variance of the mean of values whose correlations fall off as a power of the lag: it falls more slowly than 1/n,
//! and no finite time is as long as they last.
//!
//! Two models are held against the powers of the series' cosines, by Whittle's (1953) likelihood: a first-order
//! autoregressive process, and fractionally integrated noise (Granger and Joyeux 1980, Hosking 1981), each with white
//! noise beside it. The variance of the mean by the second is that of Robinson (2005); how likely each model and each of
//! its parameters is, is how much it counts.

use super::long_run::LongRun;
use crate::estimators::distributions::ln_gamma;

/// Of fewer blocks long memory cannot be told from a short one.
const FEWEST: usize = 200;
/// All cosines up to this one are taken, of each octave beyond this many.
const ALL: usize = 64;
const OF_OCTAVE: usize = 48;
/// The likelihood ratio from which on the series is not white noise, on logarithms: 1 in 100 such series.
const NOT_WHITE: f64 = 3.3;
/// Long memory is so likely before anything is known, for each time that it is a short one.
const RARE: f64 = 0.1;
/// From this probability on it is taken to have some.
pub(super) const LIKELY: f64 = 0.5;
/// The degrees of freedom of the variance: the exponent is estimated.
const FREEDOM: f64 = 8.0;
const CORRELATIONS: [f64; 14] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.87, 0.92, 0.95, 0.97, 0.98, 0.99];
const EXPONENTS: [f64; 12] = [0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.32, 0.36, 0.4, 0.44, 0.48];
/// The part of the variance that is white noise.
const WHITE: [f64; 7] = [0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9];

/// The powers of cosines, each with its frequency and how many it stands for.
struct Powers(Vec<(f64, f64, f64)>);

impl Powers {
    fn new(blocks: &[f64]) -> Powers {
        let n = blocks.len();
        let mean = blocks.iter().sum::<f64>() / n as f64;
        let centred: Vec<f64> = blocks.iter().map(|value| value - mean).collect();
        let mut powers = Vec::new();
        let mut add = |number: usize, weight: f64| {
            let frequency = std::f64::consts::PI * number as f64 / n as f64;
            powers.push((frequency, power(&centred, frequency), weight));
        };
        (1..n.min(ALL + 1)).for_each(|number| add(number, 1.0));
        let mut from = ALL + 1;
        while from < n {
            let to = (2 * from).min(n);
            let taken = (to - from).min(OF_OCTAVE);
            let weight = (to - from) as f64 / taken as f64;
            (0..taken).for_each(|index| add(from + index * (to - from) / taken, weight));
            from = to;
        }
        Powers(powers)
    }

    /// The likelihood of a spectrum, on logarithms, and the factor with which it is the largest.
    fn likelihood(&self, spectrum: &[f64]) -> (f64, f64) {
        let (mut count, mut sum, mut logarithms) = (0.0, 0.0, 0.0);
        for (&(_, power, weight), of) in self.0.iter().zip(spectrum) {
            count += weight;
            sum += weight * power / of;
            logarithms += weight * of.ln();
        }
        let scale = sum / count;
        (-0.5 * (count * scale.ln() + logarithms), scale)
    }

    fn spectrum(&self, of: impl Fn(f64) -> f64) -> Vec<f64> {
        self.0.iter().map(|&(frequency, ..)| of(frequency)).collect()
    }
}

/// 2 / n (sum x_t cos(frequency (t - 1/2)))^2, the cosines each from the two before it.
fn power(values: &[f64], frequency: f64) -> f64 {
    let twice = 2.0 * frequency.cos();
    let (mut before, mut cosine, mut sum) = ((frequency / 2.0).cos(), (frequency / 2.0).cos(), 0.0);
    for value in values {
        sum += value * cosine;
        (before, cosine) = (cosine, twice * cosine - before);
    }
    2.0 / values.len() as f64 * sum * sum
}

/// What is known of a series' long memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// The probability that it has some.
    pub(super) probability: f64,
    /// The variance of the mean, if it has.
    variance_of_mean: f64,
}

impl Memory {
    /// A memory of these parameters, if it is known to be as likely as this.
    pub(super) fn if_likely(self, probability: f64) -> Memory {
        Memory { probability, ..self }
    }

    /// The variance of the mean, `short` being that of a series without long memory: the mean of both, by what is known.
    pub(super) fn with(&self, short: LongRun) -> LongRun {
        let more = (self.variance_of_mean - short.variance_of_mean).max(0.0);
        let variance_of_mean = short.variance_of_mean + self.probability * more;
        let freedom = if self.probability > LIKELY { short.freedom.min(FREEDOM) } else { short.freedom };
        LongRun { variance_of_mean, freedom }
    }
}

/// The memory of a series of block means; `None`: it has none, or that does not show.
pub(super) fn memory(blocks: &[f64]) -> Option<Memory> {
    let n = blocks.len();
    if n < FEWEST {
        return None;
    }
    let powers = Powers::new(blocks);
    let (white, scale) = powers.likelihood(&powers.spectrum(|_| 1.0));
    if scale.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
        return None;
    }
    // The likelihood with the variance of the mean, for each part of white noise; `of_mean`: of the rest.
    let each = |pure: Vec<f64>, of_mean: f64| {
        WHITE.map(|part| {
            let mixed: Vec<f64> = pure.iter().map(|of| part + (1.0 - part) * of).collect();
            let (likelihood, scale) = powers.likelihood(&mixed);
            (likelihood - white, scale * (part + (1.0 - part) * of_mean) / n as f64)
        })
    };
    let short = |phi: f64| powers.spectrum(|at| (1.0 - phi * phi) / (1.0 + phi * phi - 2.0 * phi * at.cos()));
    let long = |d: f64| powers.spectrum(|at| of_unit(d) * (2.0 * (at / 2.0).sin()).powf(-2.0 * d));
    let shorts: Vec<(f64, f64)> = CORRELATIONS.into_iter().flat_map(|phi| each(short(phi), 0.0)).collect();
    let of_long = |d: f64| of_unit(d) * of_mean(d) * (n as f64).powf(2.0 * d);
    let longs: Vec<(f64, f64)> = EXPONENTS.into_iter().flat_map(|d| each(long(d), of_long(d))).collect();
    let most = shorts.iter().chain(&longs).map(|(likelihood, _)| *likelihood).fold(f64::NEG_INFINITY, f64::max);
    if most < NOT_WHITE {
        return None;
    }
    let weight = |(likelihood, _): &(f64, f64)| (likelihood - most).exp();
    let mean = |of: &[(f64, f64)]| of.iter().map(weight).sum::<f64>() / of.len() as f64;
    let [of_shorts, of_longs] = [(&shorts, 1.0), (&longs, RARE)].map(|(of, before)| before * mean(of));
    let sum: f64 = longs.iter().map(weight).sum();
    let variance = longs.iter().map(|of| weight(of) * of.1).sum::<f64>() / sum;
    (sum > 0.0).then_some(Memory { probability: of_longs / (of_longs + of_shorts), variance_of_mean: variance })
}

/// The factor with which fractionally integrated noise has the variance 1: Gamma(1 - d)^2 / Gamma(1 - 2d).
fn of_unit(d: f64) -> f64 {
    (2.0 * ln_gamma(1.0 - d) - ln_gamma(1.0 - 2.0 * d)).exp()
}

/// The variance of the mean of n values, times n^(1 - 2d), over the spectrum's factor at low frequencies.
fn of_mean(d: f64) -> f64 {
    use std::f64::consts::PI;
    ln_gamma(1.0 - 2.0 * d).exp() * (PI * d).sin() / (PI * d * (1.0 + 2.0 * d))
}

#[cfg(test)]
mod tests {
    use mpitrace_testing::Random;

    use super::super::Intervals;
    use super::super::long_run::{cosine_powers, long_run};
    use super::*;

    /// Fractionally integrated noise of variance 1, from its moving average of 2000 terms; 0: white noise.
    fn fractional(count: usize, d: f64, seed: u64) -> Vec<f64> {
        const TERMS: usize = 2000;
        let mut weights = vec![1.0];
        (1..TERMS).for_each(|lag| weights.push(weights[lag - 1] * (lag as f64 - 1.0 + d) / lag as f64));
        let deviation = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
        let mut random = Random::new(seed);
        let noise: Vec<f64> = (0..count + TERMS).map(|_| random.normal()).collect();
        let at = |i: usize| weights.iter().zip(noise[i + 1..=i + TERMS].iter().rev()).map(|(w, z)| w * z).sum::<f64>();
        (0..count).map(|i| at(i) / deviation).collect()
    }

    fn autoregressive(count: usize, phi: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut last = 0.0;
        let mut next = || {
            last = phi * last + random.normal();
            last
        };
        (0..count + 200).map(|_| next()).skip(200).collect()
    }

    #[test]
    fn powers_are_those_of_the_cosines() {
        let values = autoregressive(500, 0.5, 1);
        for (number, of) in cosine_powers(&values, 20).into_iter().enumerate() {
            let frequency = std::f64::consts::PI * (number + 1) as f64 / 500.0;
            assert!((power(&values, frequency) / of - 1.0).abs() < 1e-6, "{number}");
        }
    }

    #[test]
    fn the_variance_of_a_mean_is_that_of_long_memory_where_there_is_some() {
        for d in [0.25, 0.4] {
            let means: Vec<f64> = (0..200).map(|seed| fractional(1000, d, seed).iter().sum::<f64>() / 1000.0).collect();
            let truth = means.iter().map(|mean| mean * mean).sum::<f64>() / 200.0;
            let estimate = |seed: u64| {
                let values = fractional(1000, d, 1000 + seed);
                let short = long_run(&values, 0.01).unwrap();
                memory(&values).map_or(short, |memory| memory.with(short)).variance_of_mean
            };
            let mut found: Vec<f64> = (0..40).map(estimate).collect();
            found.sort_by(f64::total_cmp);
            assert!((0.5..4.0).contains(&(found[20] / truth)), "{d}: {} of {truth}", found[20]);
        }
    }

    #[test]
    fn the_interval_of_the_median_is_stated_and_holds_where_the_memory_is_long() {
        for d in [0.25, 0.4] {
            let (mut stated, mut held) = (0, 0);
            for seed in 0..100 {
                let values = fractional(1000, d, 5000 + seed);
                let mut sorted = values.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                let found = Intervals::new(&values, &sorted, 0.95).quantile(0.5);
                stated += usize::from(found.is_some());
                held += usize::from(found.is_some_and(|found| found.lower <= 0.0 && 0.0 <= found.upper));
            }
            // .93 less two standard deviations.
            assert!(stated >= 90 && 100 * held >= 88 * stated, "{d}: {held} of {stated}");
        }
    }

    #[test]
    fn a_short_memory_is_not_taken_for_a_long_one() {
        for phi in [0.0, 0.3, 0.5, 0.9] {
            let likely =
                |seed: &u64| memory(&autoregressive(1000, phi, *seed)).is_some_and(|found| found.probability > 0.1);
            let found = (0..40).filter(likely).count();
            assert!(found <= 4, "{found} of 40: {phi}");
        }
        assert!(memory(&autoregressive(100, 0.5, 1)).is_none() && memory(&[1.0; 500]).is_none());
    }
}
