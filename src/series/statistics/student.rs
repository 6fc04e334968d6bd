//! Quantiles of Student's t.

use crate::distributions::student_below;

/// Halvings after which the ends of an interval are neighbouring numbers.
const HALVINGS: usize = 128;

/// From so many degrees of freedom on the quantiles are those of a normal distribution within 2e-7, and the
/// distribution function is rounded by more than that.
const NORMAL: f64 = 1e7;

/// The value below which Student's t with so many degrees of freedom, which need not be whole, lies with probability
/// `p`, from 1/2 to below 1. `None` where there is no such distribution.
///
/// By bisection of the distribution function.
pub fn student_quantile(freedom: f64, p: f64) -> Option<f64> {
    if freedom.is_nan() || freedom <= 0.0 {
        return None;
    }
    let freedom = freedom.min(NORMAL);
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

#[cfg(test)]
mod tests {
    use super::student_quantile;

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
