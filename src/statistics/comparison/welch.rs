//! Welch's t-test: are the means of two normal samples apart, whatever their variances?

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Alternative, mean, variance};
use crate::student_quantile;

/// The result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// (mean of A - mean of B) / its standard error.
    pub t: f64,
    /// Degrees of freedom, by Welch and Satterthwaite.
    pub freedom: f64,
    /// The p-value.
    pub p: f64,
    /// The mean of B less that of A.
    pub difference: f64,
    /// Its interval.
    pub interval: [f64; 2],
}

/// The standard error of the difference of the means, and its degrees of freedom by Welch and Satterthwaite. `None` for
/// less than two runs on a side; the degrees are no number where neither side scatters.
pub(super) fn error(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    Some(error_of([a, b].map(|sample| (variance(sample) / sample.len() as f64, sample.len() as f64))))
}

/// The standard error of a difference of two means and its degrees of freedom, from the squared standard error of each
/// mean and its number of runs.
pub(super) fn error_of([(error_a, a), (error_b, b)]: [(f64, f64); 2]) -> (f64, f64) {
    let squared = error_a + error_b;
    (squared.sqrt(), squared * squared / (error_a * error_a / (a - 1.0) + error_b * error_b / (b - 1.0)))
}

/// Tests A against B (Welch 1947), with an interval of this confidence. `None` for less than two runs on a side, and
/// where neither side scatters: no t exists.
///
/// ```
/// use mpitrace_statistics::comparison::{Alternative, welch};
///
/// let found = welch(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0], Alternative::TwoSided, 0.95).expect("scatter");
/// assert_eq!((found.difference, found.freedom), (10.0, 4.0));
/// assert!(found.p < 0.001 && found.interval[0] > 0.0);
/// assert!(welch(&[1.0, 1.0], &[2.0, 2.0], Alternative::TwoSided, 0.95).is_none());
/// ```
pub fn welch(a: &[f64], b: &[f64], alternative: Alternative, confidence: f64) -> Option<Welch> {
    let (error, freedom) = error(a, b)?;
    let difference = mean(b) - mean(a);
    // Also refuses what is so small that its square is 0.
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let t = -difference / error;
    let p = alternative.p(student.cdf(t), student.cdf(-t));
    let reach = student_quantile(freedom, 0.5 + confidence / 2.0)? * error;
    Some(Welch { t, freedom, p, difference, interval: [difference - reach, difference + reach] })
}
