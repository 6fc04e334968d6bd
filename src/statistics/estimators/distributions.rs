//! Distribution functions: the normal one, the incomplete beta function and what follows from it.
//!
//! Where `statrs` loses digits they are computed here: it sums 140 terms of the beta function at most.

use std::ffi::c_int;

use statrs::distribution::{ContinuousCDF, Normal};

unsafe extern "C" {
    /// 2 / sqrt(pi) times the integral of exp(-t^2) from x on, by the C library.
    safe fn erfc(x: f64) -> f64;
    /// The logarithm of the gamma function, by the C library; stores the function's sign.
    fn lgamma_r(x: f64, sign: *mut c_int) -> f64;
}

/// The chance that a standard normal value is above `z`.
///
/// ```
/// use mpitrace_statistics::estimators::distributions::normal_tail;
///
/// assert!((normal_tail(0.0) - 0.5).abs() < 1e-12);
/// assert!((normal_tail(1.959_963_984_540_054) - 0.025).abs() < 1e-9);
/// ```
pub fn normal_tail(z: f64) -> f64 {
    0.5 * erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The value below which a standard normal one lies with probability `p`: infinite outside (0, 1), NaN of NaN.
///
/// ```
/// use mpitrace_statistics::normal_quantile;
///
/// assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-9);
/// assert_eq!(normal_quantile(1.0), f64::INFINITY);
/// ```
pub fn normal_quantile(p: f64) -> f64 {
    if p.is_nan() { p } else { Normal::standard().inverse_cdf(p.clamp(0.0, 1.0)) }
}

/// The regularised incomplete beta function I_x(a, b): the chance that a beta variable of these shapes, both above 0,
/// is below `x`, within [0, 1]. Lentz's method for the continued fraction of DiDonato and Morris (1992).
pub(crate) fn beta_regularised(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x >= 1.0 { 1.0 } else { 0.0 };
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges quickly below the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    /// No term is taken to be nearer to 0.
    const LEAST: f64 = 1e-300;
    /// For 10^9 values the fraction takes some thousands of terms.
    const TERMS: u32 = 100_000;
    let kept = |value: f64| if value.abs() < LEAST { LEAST } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / kept(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for term in 1..TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / kept(1.0 + coefficient * d);
            c = kept(1.0 + coefficient / c);
            change = c * d;
            product *= change;
        }
        if (change - 1.0).abs() < 2.0 * f64::EPSILON {
            break;
        }
    }
    product
}

pub(crate) fn ln_gamma(x: f64) -> f64 {
    let mut sign = 0;
    // SAFETY: the place lasts for the call, and this variant keeps nothing anywhere else.
    unsafe { lgamma_r(x, &raw mut sign) }
}

/// The probability that Student's t with these degrees of freedom is below `t`, for `t` from 0 on.
///
/// ```
/// use mpitrace_statistics::estimators::distributions::student_below;
///
/// // With one degree of freedom, Cauchy's distribution.
/// assert!((student_below(1.0, 1.0) - 0.75).abs() < 1e-9);
/// ```
pub fn student_below(t: f64, freedom: f64) -> f64 {
    1.0 - 0.5 * beta_regularised(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

#[cfg(test)]
mod tests {
    use statrs::distribution::StudentsT;
    use statrs::function::beta::beta_reg;

    use super::*;

    #[track_caller]
    fn same(found: f64, expected: f64, within: f64, what: &str) {
        assert!((found - expected).abs() <= within * expected.abs(), "{what}: {found}, not {expected}");
    }

    #[test]
    fn the_normal_distribution_is_that_of_statrs() {
        let normal = Normal::standard();
        for step in -80..=370 {
            let z = f64::from(step) / 10.0;
            // Its own values are wrong by some 2e-11 between 0.5 and 1.
            same(normal_tail(z), normal.sf(z), 1e-10, "tail");
        }
        // scipy.stats.norm.sf
        for (z, expected) in
            [(-1.0, 0.841_344_746_068_542_9), (1.0, 0.158_655_253_931_457_05), (6.0, 9.865_876_450_376_946e-10)]
        {
            same(normal_tail(z), expected, 1e-14, "tail");
        }
        for exponent in 1..=60 {
            let p = 0.75_f64.powi(exponent);
            for p in [p, 1.0 - p] {
                if p < 0.9 {
                    same(normal_tail(-normal_quantile(p)), p, 1e-13, "there and back");
                }
            }
        }
        assert_eq!(normal_quantile(0.5), 0.0);
        for (p, expected) in [(0.0, f64::NEG_INFINITY), (1.0, f64::INFINITY)] {
            for p in [p, p + expected, p + 0.1_f64.copysign(expected)] {
                assert_eq!(normal_quantile(p), expected, "{p}");
            }
        }
        assert!(normal_quantile(f64::NAN).is_nan());
    }

    #[test]
    fn the_beta_function_is_that_of_statrs() {
        for a in [0.5, 1.0, 2.5, 17.0, 400.0, 1e5] {
            for b in [0.5, 1.0, 3.0, 80.0, 2e4] {
                for step in 0..=20 {
                    let x = f64::from(step) / 20.0;
                    let expected = beta_reg(a, b, x);
                    // A logarithm of a factorial of 10^5 has lost six digits.
                    let within = 1e-9 * expected + 1e-14;
                    let found = beta_regularised(a, b, x);
                    assert!((found - expected).abs() <= within, "{a} {b} {x}: {found}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn students_distribution_is_that_of_statrs() {
        for freedom in [1.0, 2.0, 7.3, 48.0, 1e4] {
            let student = StudentsT::new(0.0, 1.0, freedom).unwrap();
            for step in 0..40 {
                let t = f64::from(step) / 4.0;
                same(student_below(t, freedom), student.cdf(t), 1e-12, "student");
            }
        }
    }
}
