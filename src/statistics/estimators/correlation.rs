//! Coefficients of correlation: how far two values of the same repetitions rise together.

use super::{moments, ranks};

/// Pearson's coefficient r of pairs (x_i, y_i): sum (x_i - mean x) (y_i - mean y) over the root of sum (x_i - mean x)^2
/// sum (y_i - mean y)^2, -1 to 1 (Roth 2021, 3.4: 1 for points on a line that rises). Pairs with a value that is not
/// finite are left out. `None` for fewer than 3 pairs, and where all of one side are equal. No unit.
///
/// ```
/// use mpitrace_statistics::pearson;
///
/// let x = [1.0, 2.0, 3.0, 4.0];
/// assert!(pearson(&x, &[10.0, 20.0, 30.0, 40.0]).is_some_and(|r| (r - 1.0).abs() < 1e-12));
/// assert_eq!(pearson(&x, &[5.0; 4]), None);
/// ```
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let (x, y) = pairs(x, y);
    of_pairs(&x, &y)
}

/// Spearman's coefficient: Pearson's of the ranks of the values, of equal ones their mean. It is 1 wherever one value
/// rises with the other, along a line or not, and a few wild values do not move it. `None` as for [`pearson`]. No unit.
///
/// ```
/// use mpitrace_statistics::spearman;
///
/// let x: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
/// assert!(spearman(&x, &x.map(f64::exp)).is_some_and(|r| (r - 1.0).abs() < 1e-12));
/// ```
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    let (x, y) = pairs(x, y);
    of_pairs(&ranks(&x).0, &ranks(&y).0)
}

fn pairs(x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let both = x.iter().zip(y).filter(|(x, y)| x.is_finite() && y.is_finite());
    both.map(|(&x, &y)| (x, y)).unzip()
}

fn of_pairs(x: &[f64], y: &[f64]) -> Option<f64> {
    // Equal values whose mean differs from them in its last digit have no deviation either.
    let vary = |values: &[f64]| values.iter().any(|value| *value != values[0]);
    if x.len() < 3 || !vary(x) || !vary(y) {
        return None;
    }
    let (of_x, of_y) = (moments(x)?, moments(y)?);
    let covariance: f64 = x.iter().zip(y).map(|(x, y)| (x - of_x.mean) * (y - of_y.mean)).sum();
    let deviations = of_x.standard_deviation? * of_y.standard_deviation? * (x.len() as f64 - 1.0);
    (deviations > 0.0).then(|| (covariance / deviations).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.pearsonr and spearmanr of these.
    #[test]
    fn the_coefficients_are_those_of_scipy() {
        let x = [2.1, 3.4, 1.0, 8.9, 5.5, 5.5, 7.2, 0.3];
        let y = [10.0, 14.2, 9.1, 90.3, 21.0, 26.5, 22.2, 11.0];
        assert!((pearson(&x, &y).unwrap() - 0.767_330_957_056_807_3).abs() < 1e-12, "{:?}", pearson(&x, &y));
        assert!((spearman(&x, &y).unwrap() - 0.886_243_433_815_811_7).abs() < 1e-12, "{:?}", spearman(&x, &y));
    }

    #[test]
    fn what_does_not_vary_has_none_and_what_is_no_number_is_left_out() {
        assert_eq!(pearson(&[0.1; 7], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), None);
        assert_eq!(spearman(&[1.0, 2.0], &[1.0, 2.0]), None);
        let x = [1.0, f64::NAN, 2.0, 3.0, 9.0];
        assert!((pearson(&x, &[-1.0, 7.0, -2.0, -3.0, f64::INFINITY]).unwrap() + 1.0).abs() < 1e-12);
    }
}
