//! Quantiles of Student's t.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::estimators::distributions::student_below;

/// So many quantiles are kept by each thread.
const MOST_KNOWN: usize = 1 << 12;

/// Halvings after which the ends of an interval are neighbouring numbers.
const HALVINGS: usize = 128;

/// From so many degrees of freedom on the quantiles are those of a normal distribution within 2e-7, and the
/// distribution function is rounded by more than that.
const NORMAL: f64 = 1e7;

/// The value below which Student's t with so many degrees of freedom, which need not be whole, lies with probability
/// `p`, from 1/2 to below 1. `None` where there is no such distribution.
///
/// By bisection of the distribution function: some 60 values of it. Each thread keeps what it found last, since
/// intervals of many operations are of as many values.
///
/// ```
/// use mpitrace_statistics::student_quantile;
///
/// assert!(student_quantile(1.0, 0.75).is_some_and(|t| (t - 1.0).abs() < 1e-9));
/// assert!(student_quantile(9.0, 0.975).is_some_and(|t| (t - 2.262_157).abs() < 1e-6));
/// assert_eq!(student_quantile(0.0, 0.975), None);
/// ```
pub fn student_quantile(freedom: f64, p: f64) -> Option<f64> {
    if freedom.is_nan() || freedom <= 0.0 {
        return None;
    }
    let freedom = freedom.min(NORMAL);
    thread_local! {
        static KNOWN: RefCell<HashMap<[u64; 2], Option<f64>>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        *known.entry([freedom, p].map(f64::to_bits)).or_insert_with(|| bisected(freedom, p))
    })
}

fn bisected(freedom: f64, p: f64) -> Option<f64> {
    let (mut low, mut high) = (0.0, 1.0);
    while student_below(high, freedom) < p {
        (low, high) = (high, 2.0 * high);
        if !high.is_finite() {
            return None;
        }
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if student_below(middle, freedom) < p { low = middle } else { high = middle }
    }
    Some(f64::midpoint(low, high))
}

/// The ends of the interval of a mean by Student's t, `half` being the quantile times the standard error: mean - half
/// and mean + half. Where the lower one is below 0 and `least`, the least of the values, is not, they are those on a
/// scale of logarithms by the delta method (the standard error of ln mean is that of the mean over the mean): mean
/// exp(-half / mean) and mean exp(half / mean).
///
/// ```
/// use mpitrace_statistics::ends_of_mean;
///
/// assert_eq!(ends_of_mean(10.0, 2.0, 1.0), [8.0, 12.0]);
/// // Times cannot be below 0: the interval is made on logarithms.
/// let [lower, upper] = ends_of_mean(10.0, 12.0, 1.0);
/// assert!(lower > 0.0 && upper > 22.0);
/// ```
pub fn ends_of_mean(mean: f64, half: f64, least: f64) -> [f64; 2] {
    let ends = [mean - half, mean + half];
    if ends[0] >= 0.0 || least < 0.0 {
        return ends;
    }
    [mean * (-half / mean).exp(), mean * (half / mean).exp()]
}

#[cfg(test)]
mod tests {
    use super::{ends_of_mean, student_quantile};
    use crate::estimators::moments;
    use mpitrace_testing::Random;

    #[test]
    fn no_interval_of_the_mean_of_values_above_0_reaches_below_it() {
        assert_eq!(ends_of_mean(10.0, 4.0, 1.0), [6.0, 14.0]);
        assert_eq!(ends_of_mean(1.0, 4.0, -5.0), [-3.0, 5.0]);
        let [lower, upper] = ends_of_mean(10.0, 20.0, 1.0);
        assert!((lower - 10.0 * (-2.0_f64).exp()).abs() < 1e-12 && (upper - 10.0 * 2.0_f64.exp()).abs() < 1e-9);
        assert_eq!(ends_of_mean(0.0, 0.0, 0.0), [0.0, 0.0]);
    }

    /// Where Student's would reach below 0 the other one holds the mean at least as often, up to 3 of 100.
    #[test]
    fn on_logarithms_it_holds_the_mean_no_less_often() {
        let mut random = Random::new(12);
        // exp of a normal variable with a standard deviation of 1.5, whose mean is exp(1.5^2 / 2).
        let truth = 1.125_f64.exp();
        for n in [6, 10, 20] {
            let quantile = student_quantile(f64::from(n) - 1.0, 0.975).unwrap();
            let (mut below, mut by_student, mut by_logarithms) = (0, 0, 0);
            for _ in 0..4000 {
                let values: Vec<f64> = (0..n).map(|_| (1.5 * random.normal()).exp()).collect();
                let found = moments(&values).unwrap();
                let half = quantile * found.standard_deviation.unwrap() / f64::from(n).sqrt();
                if found.mean < half {
                    below += 1;
                    by_student += u32::from(truth <= found.mean + half);
                    let [lower, upper] = ends_of_mean(found.mean, half, 0.0);
                    by_logarithms += u32::from((lower..=upper).contains(&truth));
                }
            }
            assert!(below > 400 && by_logarithms + 3 * below / 100 >= by_student, "{n}: {by_student} {by_logarithms}");
        }
    }

    #[test]
    fn the_quantiles_of_the_tables() {
        // scipy.stats.t.ppf(0.975, freedom)
        let known = [
            (1.0, 12.706_204_736_432_095),
            (2.0, 4.302_652_729_911_275),
            (5.0, 2.570_581_835_636_314),
            (30.0, 2.042_272_456_301_238),
            (1e6, 1.959_966_356_814_126),
        ];
        for (freedom, expected) in known {
            let found = student_quantile(freedom, 0.975).unwrap();
            assert!((found / expected - 1.0).abs() < 1e-7, "{freedom}: {found}, not {expected}");
        }
        assert_eq!(student_quantile(5.0, 0.5).map(|median| median.abs() < 1e-9), Some(true));
        assert_eq!(student_quantile(0.0, 0.975), None);
        assert_eq!(student_quantile(f64::NAN, 0.975), None);
        // More than are kept.
        for number in 0..2 * super::MOST_KNOWN as u32 + 9 {
            let freedom = f64::from(1 + number % 5000);
            assert!(number % 97 > 0 || student_quantile(freedom, 0.9) == super::bisected(freedom, 0.9));
        }
    }

    #[test]
    fn it_ends_and_falls_with_the_degrees_of_freedom_whatever_they_are() {
        let mut before = f64::INFINITY;
        for step in 0..3000 {
            let freedom = 1.0 + 1.013_f64.powi(step.min(2000)) + f64::from(step) * 0.37;
            let found = student_quantile(freedom, 0.975).unwrap();
            assert!(found > 1.95 && found <= before * (1.0 + 1e-7), "{freedom}: {found} after {before}");
            before = found;
        }
    }
}
