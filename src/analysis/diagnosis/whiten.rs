//! Series made independent of their own past, so that what drifts is not taken for what causes.
//!
//! A counter of which each value remembers the ones before differs between any two groups of repetitions. An
//! autoregressive model that is fitted to it (Burg 1975, of the order that Akaike's criterion takes) says how much of a
//! value the ones before give; what is left is compared (generalised least squares: Aitken 1936; Prais and Winsten
//! 1954). A random walk is then compared by its steps only, and independent values by all of them.

use statrs::distribution::{ContinuousCDF, Normal};

use super::ranks::mid_ranks;

/// The model has no more coefficients, ...
const MOST: usize = 40;
/// ... and one for so many values at most.
const VALUES_EACH: usize = 12;

/// Normal scores of values (van der Waerden 1952): the quantiles of the normal distribution at their ranks. What is not
/// a number gets 0, the score of the median.
pub(super) fn normal_scores(values: &[f64]) -> Vec<f64> {
    let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    let ranks = mid_ranks(&known);
    let (normal, n) = (Normal::standard(), known.len() as f64);
    let mut scores = ranks.into_iter().map(|rank| normal.inverse_cdf(rank / (n + 1.0)));
    values.iter().map(|value| if value.is_nan() { 0.0 } else { scores.next().unwrap_or(0.0) }).collect()
}

/// Takes the line of least squares away.
pub(super) fn without_trend(values: &mut [f64]) {
    let n = values.len() as f64;
    let (middle, mean) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
    let (mut product, mut squares) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        product += (index as f64 - middle) * (value - mean);
        squares += (index as f64 - middle).powi(2);
    }
    let slope = if squares > 0.0 { product / squares } else { 0.0 };
    values.iter_mut().enumerate().for_each(|(index, value)| *value -= mean + slope * (index as f64 - middle));
}

/// An autoregressive model: a value is the sum of these times the ones before, and something new.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Model {
    coefficients: Vec<f64>,
    /// Values in a row, after which the next ones come from elsewhere in the series.
    stretch: usize,
}

impl Model {
    /// Fits it to values around 0: stretches of so many in a row, one behind the other.
    pub(super) fn fitted(values: &[f64], stretch: usize) -> Model {
        let n = values.len();
        let stretch = stretch.clamp(1, n.max(1));
        let follows = |t: &usize, order: usize| t % stretch >= order;
        let most = MOST.min(n / VALUES_EACH);
        let mut power = values.iter().map(|value| value * value).sum::<f64>() / n as f64;
        let (mut forward, mut backward) = (values.to_vec(), values.to_vec());
        let mut coefficients: Vec<f64> = Vec::new();
        let mut best = (n as f64 * power.ln(), Vec::new());
        for order in 1..=most {
            let (mut product, mut squares) = (0.0, 0.0);
            for t in (order..n).filter(|t| follows(t, order)) {
                product += forward[t] * backward[t - 1];
                squares += forward[t] * forward[t] + backward[t - 1] * backward[t - 1];
            }
            if squares <= 0.0 || power <= 0.0 {
                break;
            }
            let reflection = 2.0 * product / squares;
            for t in (order..n).rev().filter(|t| follows(t, order)) {
                let (ahead, behind) = (forward[t], backward[t - 1]);
                forward[t] = ahead - reflection * behind;
                backward[t] = behind - reflection * ahead;
            }
            let known = coefficients.clone();
            for (index, coefficient) in coefficients.iter_mut().enumerate() {
                *coefficient -= reflection * known[order - 2 - index];
            }
            coefficients.push(reflection);
            power *= 1.0 - reflection * reflection;
            let criterion = n as f64 * power.max(f64::MIN_POSITIVE).ln() + 2.0 * order as f64;
            if criterion < best.0 {
                best = (criterion, coefficients.clone());
            }
        }
        Model { coefficients: best.1, stretch }
    }

    /// The new part of each value; 0 in the first ones of a stretch, of which not all values before are known.
    pub(super) fn innovations(&self, values: &[f64]) -> Vec<f64> {
        let order = self.coefficients.len();
        let new = |t: usize| {
            let before: f64 = self.coefficients.iter().enumerate().map(|(lag, c)| c * values[t - 1 - lag]).sum();
            values[t] - before
        };
        (0..values.len()).map(|t| if t % self.stretch.max(1) < order { 0.0 } else { new(t) }).collect()
    }

    /// The transposed of [`Model::innovations`]: sum c_t x~_t of whitened series is the sum of c_t and these.
    pub(super) fn transposed(&self, innovations: &[f64]) -> Vec<f64> {
        let n = innovations.len();
        let mut found = innovations.to_vec();
        for (lag, coefficient) in (1..).zip(&self.coefficients) {
            for t in 0..n.saturating_sub(lag) {
                found[t] -= coefficient * innovations[t + lag];
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    #[test]
    fn the_model_is_that_of_the_series() {
        let mut random = Random::new(1);
        let mut values = vec![0.0, 0.0];
        for t in 2..20_000 {
            values.push(0.6 * values[t - 1] + 0.3 * values[t - 2] + random.normal());
        }
        let model = Model::fitted(&values, values.len());
        assert!((model.coefficients[0] - 0.6).abs() < 0.03 && (model.coefficients[1] - 0.3).abs() < 0.03, "{model:?}");
        let new = model.innovations(&values);
        let variance = new.iter().map(|e| e * e).sum::<f64>() / new.len() as f64;
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
        assert!(Model::fitted(&[0.0; 50], 50).coefficients.is_empty());
        assert!(Model::fitted(&[], 0).coefficients.is_empty());
    }

    #[test]
    fn the_transposed_filter_gives_the_same_product() {
        let mut random = Random::new(2);
        let model = Model { coefficients: vec![0.5, -0.2, 0.1], stretch: 25 };
        let [x, c] = [0, 1].map(|_| (0..50).map(|_| random.normal()).collect::<Vec<f64>>());
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let new = model.innovations(&x);
        // The first innovations are 0, so what the filter makes of c there counts for nothing.
        let both = product(&new, &model.innovations(&c));
        assert!((both - product(&model.transposed(&new), &c)).abs() < 1e-12);
    }

    #[test]
    fn scores_are_those_of_scipy() {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../../../tests/reference/intervals.json")).unwrap();
        let numbers = |value: &serde_json::Value| -> Vec<f64> { serde_json::from_value(value.clone()).unwrap() };
        for case in all["scores"].as_array().unwrap() {
            let found = normal_scores(&numbers(&case["values"]));
            let expected = numbers(&case["scores"]);
            assert!(
                found.iter().zip(&expected).all(|(one, other)| (one - other).abs() < 1e-9),
                "{found:?} {expected:?}"
            );
        }
    }

    #[test]
    fn scores_are_quantiles_and_a_line_leaves_nothing() {
        let scores = normal_scores(&[5.0, f64::NAN, 1.0, 3.0]);
        assert_eq!((scores[1], scores[3]), (0.0, 0.0));
        assert!((scores[0] - 0.674_489_750_196).abs() < 1e-9 && scores[2] == -scores[0]);
        let mut line: Vec<f64> = (0..9).map(|k| 3.0 + 2.0 * f64::from(k)).collect();
        without_trend(&mut line);
        assert!(line.iter().all(|rest| rest.abs() < 1e-12));
    }
}
