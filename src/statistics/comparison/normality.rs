//! Are the averages of the runs normally distributed, as a t-test wants them to be?

use serde::Serialize;
use statrs::distribution::ContinuousCDF;

use super::{mean, normal, sorted};

/// The result of the test of Shapiro and Wilk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShapiroWilk {
    /// 1 for values that lie as those of a normal distribution do; less for others.
    pub w: f64,
    /// The probability of such a W, or of a smaller one, where the values are normal.
    pub p: f64,
}

/// The sizes of a sample for which Royston's approximations hold.
const SIZES: std::ops::RangeInclusive<usize> = 3..=5000;

/// The test of Shapiro and Wilk, by Royston's algorithm AS R94 (Applied Statistics 44, 1995), which R and SciPy use
/// too. `None` for less than 3 or more than 5000 values, and where all are equal.
///
/// ```
/// use mpitrace_statistics::comparison::shapiro_wilk;
///
/// let normal: Vec<f64> = (1..40).map(|i| mpitrace_statistics::normal_quantile(f64::from(i) / 40.0)).collect();
/// assert!(shapiro_wilk(&normal).is_some_and(|found| found.w > 0.98 && found.p > 0.5));
/// let skewed: Vec<f64> = normal.iter().map(|value| (2.0 * value).exp()).collect();
/// assert!(shapiro_wilk(&skewed).is_some_and(|found| found.p < 0.001));
/// ```
pub fn shapiro_wilk(values: &[f64]) -> Option<ShapiroWilk> {
    let n = values.len();
    if !SIZES.contains(&n) {
        return None;
    }
    let values = sorted(values);
    let range = values[n - 1] - values[0];
    if range.is_nan() || range <= 0.0 {
        return None;
    }
    let middle = mean(&values);
    let weights = weights(n);
    // Scaled, so that no square is too large or too small.
    let spread: f64 = values.iter().map(|value| ((value - middle) / range).powi(2)).sum();
    let pairs = weights.iter().enumerate().map(|(i, weight)| weight * (values[n - 1 - i] - values[i]) / range);
    let w = (pairs.sum::<f64>().powi(2) / spread).min(1.0);
    Some(ShapiroWilk { w, p: probability(w, n) })
}

/// The weight of each pair of values, the outermost first: nearly what the expected order statistics of a normal sample
/// give, the outer ones corrected (AS R94, equations 1 and 2).
fn weights(n: usize) -> Vec<f64> {
    if n == 3 {
        return vec![0.5_f64.sqrt()];
    }
    let scores: Vec<f64> = (1..=n / 2).map(|i| -normal().inverse_cdf((i as f64 - 0.375) / (n as f64 + 0.25))).collect();
    let squares = 2.0 * scores.iter().map(|score| score * score).sum::<f64>();
    let (length, root) = (squares.sqrt(), 1.0 / (n as f64).sqrt());
    let outermost = scores[0] / length + polynomial(&[0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056], root);
    let mut corrected = vec![outermost];
    if n > 5 {
        let second = scores[1] / length + polynomial(&[0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633], root);
        corrected.push(second);
    }
    let outer = |list: &[f64]| 2.0 * list[..corrected.len()].iter().map(|value| value * value).sum::<f64>();
    let scale = ((squares - outer(&scores)) / (1.0 - outer(&corrected))).sqrt();
    let inner: Vec<f64> = scores[corrected.len()..].iter().map(|score| score / scale).collect();
    corrected.extend(inner);
    corrected
}

/// P(W <= w): a function of W is nearly normal, its moments found by simulation (AS R94, section 2).
fn probability(w: f64, n: usize) -> f64 {
    if n == 3 {
        let least = 0.75_f64.sqrt().asin();
        return (6.0 / std::f64::consts::PI * (w.sqrt().asin() - least)).clamp(0.0, 1.0);
    }
    let (size, log) = (n as f64, (n as f64).ln());
    let mut y = (1.0 - w).ln();
    let (middle, deviation) = if n <= 11 {
        let bound = polynomial(&[-2.273, 0.459], size);
        if y >= bound {
            return 0.0;
        }
        y = -(bound - y).ln();
        (
            polynomial(&[0.544, -0.39978, 0.025054, -6.714e-4], size),
            polynomial(&[1.3822, -0.77857, 0.062767, -0.0020322], size).exp(),
        )
    } else {
        (
            polynomial(&[-1.5861, -0.31082, -0.083751, 0.0038915], log),
            polynomial(&[-0.4803, -0.082676, 0.0030302], log).exp(),
        )
    };
    normal().sf((y - middle) / deviation)
}

fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// The points of a Q-Q plot (Hunold & Carpen-Amarie 2016, figure 27): the quantile of the standard normal distribution
/// that belongs to a value, and the value, in ascending order. Normal values lie on a line. The plotting positions are
/// those of R's `ppoints`: (i - a) / (n + 1 - 2 a) with a = 3/8 for up to 10 values and 1/2 for more.
///
/// ```
/// use mpitrace_statistics::comparison::q_q;
///
/// let points = q_q(&[3.0, 1.0, 2.0]);
/// assert_eq!(points[1], [0.0, 2.0]);
/// assert!((points[0][0] + points[2][0]).abs() < 1e-12);
/// ```
pub fn q_q(values: &[f64]) -> Vec<[f64; 2]> {
    let n = values.len() as f64;
    let shift = if values.len() <= 10 { 0.375 } else { 0.5 };
    let position = |index: usize| (index as f64 + 1.0 - shift) / (n + 1.0 - 2.0 * shift);
    sorted(values).into_iter().enumerate().map(|(i, value)| [normal().inverse_cdf(position(i)), value]).collect()
}
