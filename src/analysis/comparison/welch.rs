//! Welch's t-test: are the means of two normal samples apart, whatever their variances?

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Alternative, CONFIDENCE, mean, variance};
use crate::statistics::student_quantile;

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
    let of = |sample: &[f64]| (variance(sample) / sample.len() as f64, sample.len() as f64 - 1.0);
    let ((error_a, freedom_a), (error_b, freedom_b)) = (of(a), of(b));
    let squared = error_a + error_b;
    let freedom = squared * squared / (error_a * error_a / freedom_a + error_b * error_b / freedom_b);
    Some((squared.sqrt(), freedom))
}

/// Tests A against B (Welch 1947). `None` for less than two runs on a side, and where neither side scatters: no t
/// exists.
pub fn welch(a: &[f64], b: &[f64], alternative: Alternative) -> Option<Welch> {
    let (error, freedom) = error(a, b)?;
    let difference = mean(b) - mean(a);
    // Also refuses what is so small that its square is 0.
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let t = -difference / error;
    let p = alternative.p(student.cdf(t), student.cdf(-t));
    let reach = student_quantile(freedom, 0.5 + CONFIDENCE / 2.0)? * error;
    Some(Welch { t, freedom, p, difference, interval: [difference - reach, difference + reach] })
}
