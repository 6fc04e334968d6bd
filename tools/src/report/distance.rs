//! How far two distributions are apart.

/// The distance of Wasserstein, of order 1: how much the one must be moved, on average, to become the other; in the
/// unit of the values. It is the area between the two distribution functions. Both sides ascending; `None` where one is
/// empty.
pub fn wasserstein(a: &[f64], b: &[f64]) -> Option<f64> {
    between(a, b, |area, share, width| area + share.abs() * width)
}

/// The distance of Kolmogorov and Smirnov: the greatest difference of the two distribution functions, 0 to 1. Both
/// sides ascending; `None` where one is empty.
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> Option<f64> {
    between(a, b, |most, share, _| f64::max(most, share.abs()))
}

/// Visits the steps between neighbouring values of both sides together: the difference of the shares not above, and how
/// wide.
fn between(a: &[f64], b: &[f64], visit: impl Fn(f64, f64, f64) -> f64) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (mut of_a, mut of_b, mut result) = (0, 0, 0.0);
    while of_a < a.len() && of_b < b.len() {
        let at = a[of_a].min(b[of_b]);
        of_a += a[of_a..].iter().take_while(|&&value| value <= at).count();
        of_b += b[of_b..].iter().take_while(|&&value| value <= at).count();
        let next = [a.get(of_a), b.get(of_b)].into_iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let share = of_a as f64 / a.len() as f64 - of_b as f64 / b.len() as f64;
        result = visit(result, share, if next.is_finite() { next - at } else { 0.0 });
    }
    // Where one side has ended the other climbs alone.
    let (rest, taken, other) = if of_a < a.len() { (a, of_a, 1.0) } else { (b, of_b, 1.0) };
    for index in taken..rest.len().saturating_sub(1) {
        let share = (index + 1) as f64 / rest.len() as f64 - other;
        result = visit(result, share, rest[index + 1] - rest[index]);
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// python3 -c 'from scipy.stats import *; a, b = [3.4, 3.9, 7.5, 7.8, 7.8], [4.5, 1.4, 9.0]; print(
    ///     wasserstein_distance(a, b), ks_2samp(a, b).statistic, wasserstein_distance([0, 1, 3], [5, 6, 8]))'
    #[test]
    fn distances_are_those_of_scipy() {
        let (a, b) = ([3.4, 3.9, 7.5, 7.8, 7.8], [1.4, 4.5, 9.0]);
        let near = |found: Option<f64>, expected: f64| assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?}");
        for (a, b) in [(&a[..], &b[..]), (&b[..], &a[..])] {
            near(wasserstein(a, b), 1.993_333_333_333_333_4);
            near(kolmogorov_smirnov(a, b), 1.0 / 3.0);
        }
        near(wasserstein(&[0.0, 1.0, 3.0], &[5.0, 6.0, 8.0]), 5.0);
        near(kolmogorov_smirnov(&[0.0, 1.0, 3.0], &[5.0, 6.0, 8.0]), 1.0);
    }

    #[test]
    fn a_distribution_is_no_distance_from_itself() {
        let x: Vec<f64> = (0..1000).map(|i| f64::from(i % 37)).collect();
        let mut sorted = x.clone();
        sorted.sort_by(f64::total_cmp);
        assert_eq!((wasserstein(&sorted, &sorted), kolmogorov_smirnov(&sorted, &sorted)), (Some(0.0), Some(0.0)));
        assert_eq!(wasserstein(&[], &sorted), None);
    }
}
