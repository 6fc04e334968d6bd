//! Mean and standard deviation.

use crate::parallel;

/// Mean and standard deviation, in the unit of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The arithmetic mean.
    pub mean: f64,
    /// With n - 1 in the denominator; `None` for one value.
    pub standard_deviation: Option<f64>,
}

/// Mean and standard deviation of values in any order. In two passes, each summed pairwise by halves: the error grows
/// with the logarithm of their number.
///
/// ```
/// use mpitrace_statistics::moments;
///
/// let found = moments(&[1.0, 2.0, 3.0]).expect("values");
/// assert_eq!((found.mean, found.standard_deviation), (2.0, Some(1.0)));
/// assert!(moments(&[]).is_none());
/// ```
pub fn moments(values: &[f64]) -> Option<Moments> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = sum(values, &|value| value) / n;
    let squares = sum(values, &|value| (value - mean) * (value - mean));
    let standard_deviation = (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt());
    Some(Moments { mean, standard_deviation })
}

fn sum(values: &[f64], term: &(impl Fn(f64) -> f64 + Sync)) -> f64 {
    // In equal parts whatever the number of processors, so that the same series always gives the same sum.
    let parts = parallel::map(values.chunks(parallel::LEAST).collect(), |part| halves(part, term));
    halves(&parts, &|sum| sum)
}

/// Summed by halves, where these are too long for a plain sum.
fn halves(values: &[f64], term: &impl Fn(f64) -> f64) -> f64 {
    if values.len() <= 1024 {
        return values.iter().map(|&value| term(value)).sum();
    }
    let (left, right) = values.split_at(values.len() / 2);
    halves(left, term) + halves(right, term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_has_the_moments_of_theory() {
        let values: Vec<f64> = (0..1_000_000).map(f64::from).collect();
        let found = moments(&values).unwrap();
        assert_eq!(found.mean, 499_999.5);
        let deviation = (1e6 * (1e6 + 1.0) / 12.0_f64).sqrt();
        assert!((found.standard_deviation.unwrap() / deviation - 1.0).abs() < 1e-14);
        assert_eq!(moments(&[]), None);
        assert_eq!(moments(&[3.0]), Some(Moments { mean: 3.0, standard_deviation: None }));
    }
}
