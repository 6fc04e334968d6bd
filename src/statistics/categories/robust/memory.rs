//! Over how many repetitions noise is correlated.

use crate::estimators::product;

/// The correlation of neighbours, of residuals from so many levels of their own, by which it looks smaller: its bias is
/// that of Kendall (1954) for each level, and as much again since the places of the levels were chosen.
pub(super) fn first_correlation(residuals: &[f64], levels: usize) -> f64 {
    let count = residuals.len() as f64;
    let mean = residuals.iter().sum::<f64>() / count.max(1.0);
    let variance: f64 = residuals.iter().map(|value| (value - mean).powi(2)).sum();
    if variance <= 0.0 {
        return 0.0;
    }
    let neighbours: f64 = residuals.iter().zip(residuals.iter().skip(1)).map(|(a, b)| (a - mean) * (b - mean)).sum();
    let rough = neighbours / variance;
    rough + 2.0 * levels as f64 * (1.0 + 3.0 * rough) / count
}

/// The sum of the correlations at all lags from 1 on, in repetitions: 0 for independent ones, phi / (1 - phi) for a
/// first-order autoregressive process. The sum ends where the correlations of two neighbouring lags are no longer above
/// 0 together (Geyer, Practical Markov chain Monte Carlo, 1992).
pub(super) fn correlation_time(residuals: &[f64]) -> f64 {
    let count = residuals.len();
    if count < 4 {
        return 0.0;
    }
    let mean = residuals.iter().sum::<f64>() / count as f64;
    let centred: Vec<f64> = residuals.iter().map(|residual| residual - mean).collect();
    let at = |lag: usize| product(&centred, &centred[lag..]);
    let variance = at(0);
    if variance <= 0.0 {
        return 0.0;
    }
    let mut sum = at(1) / variance;
    if sum <= 0.0 {
        return 0.0;
    }
    let longest = (count / 3).min(1024);
    // The least of the pairs so far: they fall for any reversible process.
    let mut least = f64::INFINITY;
    for lag in (2..longest).step_by(2) {
        let pair = (at(lag) + at(lag + 1)) / variance;
        least = least.min(pair);
        // Of so many values, smaller ones are found where there are none.
        if least <= 2.0 / (count as f64).sqrt() {
            break;
        }
        sum += least;
    }
    // The mean of the values is not that of the process, by which all correlations look smaller.
    sum + (1.0 + 2.0 * sum) * 0.5 / count as f64 * (1.0 + 2.0 * sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn autoregressive(phi: f64, count: usize) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(5);
        let mut last = 0.0;
        let mut next = || {
            last = phi * last + (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
            last
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn the_memory_of_an_autoregressive_process_is_phi_over_one_minus_phi() {
        for phi in [0.5, 0.9] {
            let time = correlation_time(&autoregressive(phi, 20_000));
            assert!((time / (phi / (1.0 - phi)) - 1.0).abs() < 0.25, "{phi}: {time}");
            let first = first_correlation(&autoregressive(phi, 20_000), 1);
            assert!((first - phi).abs() < 0.02, "{phi}: {first}");
        }
        assert!(correlation_time(&autoregressive(0.0, 20_000)) < 0.1);
        assert_eq!(correlation_time(&[1.0; 50]), 0.0);
        assert_eq!(correlation_time(&[]), 0.0);
    }

    #[test]
    fn levels_of_their_own_make_residuals_look_less_correlated() {
        let values = autoregressive(0.0, 40);
        assert!(first_correlation(&values, 4) > first_correlation(&values, 1));
    }
}
