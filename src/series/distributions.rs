//! Distribution functions, without a package: the normal one, the incomplete beta function and what follows from it.
//!
//! Tests compare it with `statrs`, which the analysis uses for other distributions.

use std::ffi::c_int;

unsafe extern "C" {
    /// Of the C library: 2 / sqrt(pi) times the integral of exp(-t^2) from x on.
    safe fn erfc(x: f64) -> f64;
    /// Of the C library; stores the sign of the gamma function.
    fn lgamma_r(x: f64, sign: *mut c_int) -> f64;
}

/// The chance that a standard normal value is above `z`.
pub fn normal_tail(z: f64) -> f64 {
    0.5 * erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// The value below which a standard normal one lies with probability `p`, within (0, 1). To 16 digits: algorithm AS 241
/// \[Wichura1988].
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRE);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail <= 0.0 {
        return if q < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let r = (-tail.ln()).sqrt();
    let distance = if r <= 5.0 { ratio(r - 1.6, &MIDDLE) } else { ratio(r - 5.0, &FAR) };
    distance.copysign(q)
}

/// Numerator and denominator of a rational function, from the constant on.
type Ratio = [[f64; 8]; 2];

fn ratio(x: f64, of: &Ratio) -> f64 {
    let [numerator, denominator] = of.map(|terms| terms.iter().rev().fold(0.0, |sum, term| sum * x + term));
    numerator / denominator
}

/// Within 0.425 of the middle.
#[allow(clippy::excessive_precision, reason = "the digits as published")]
const CENTRE: Ratio = [
    [
        3.3871328727963666080,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ],
    [
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ],
];
/// Tails down to exp(-25).
#[allow(clippy::excessive_precision, reason = "the digits as published")]
const MIDDLE: Ratio = [
    [
        1.42343711074968357734,
        4.63033784615654529590,
        5.76949722146069140550,
        3.64784832476320460504,
        1.27045825245236838258,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ],
    [
        1.0,
        2.05319162663775882187,
        1.67638483018380384940,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ],
];
/// Farther tails.
#[allow(clippy::excessive_precision, reason = "the digits as published")]
const FAR: Ratio = [
    [
        6.65790464350110377720,
        5.46378491116411436990,
        1.78482653991729133580,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ],
    [
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ],
];

/// The regularised incomplete beta function I_x(a, b): the chance that a beta variable of these shapes, both above 0,
/// is below `x`, within [0, 1]. Lentz's method for the continued fraction of DiDonato and Morris (1992).
pub fn beta_regularised(a: f64, b: f64, x: f64) -> f64 {
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

fn ln_gamma(x: f64) -> f64 {
    let mut sign = 0;
    // SAFETY: the place lasts for the call, and this variant keeps nothing anywhere else.
    unsafe { lgamma_r(x, &raw mut sign) }
}

/// The probability that Student's t with these degrees of freedom is below `t`, for `t` from 0 on.
pub fn student_below(t: f64, freedom: f64) -> f64 {
    1.0 - 0.5 * beta_regularised(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
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
                same(normal_quantile(p), normal.inverse_cdf(p), 1e-10, "quantile");
                if p < 0.9 {
                    same(normal_tail(-normal_quantile(p)), p, 1e-13, "there and back");
                }
            }
        }
        assert_eq!(normal_quantile(0.5), 0.0);
        assert_eq!([0.0, 1.0].map(normal_quantile), [f64::NEG_INFINITY, f64::INFINITY]);
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
