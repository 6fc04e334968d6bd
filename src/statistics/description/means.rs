//! The sampling distribution of the mean: what means of so many repetitions would be (Hunold & Carpen-Amarie 2016, 5.1,
//! figure 13).

use crate::estimators::moments;

/// The means of samples of `size` values each, drawn at random with replacement; in the unit of the values. The same
/// seed gives the same samples. Empty for no values, and for a size of 0.
///
/// Drawn values are independent of each other, also where the measured ones are not.
///
/// ```
/// use mpitrace_statistics::{moments, sample_means};
///
/// let values: Vec<f64> = (0..1000).map(|i| 2000.0 + f64::from(i * 7919 % 1009)).collect();
/// let means = sample_means(&values, 100, 500, 1);
/// assert_eq!(means, sample_means(&values, 100, 500, 1));
/// let [one, all] = [&means[..], &values[..]].map(|values| moments(values).expect("values"));
/// // Their spread is that of the values over the root of 100.
/// let ratio = 10.0 * one.standard_deviation.expect("500 means") / all.standard_deviation.expect("1000 values");
/// assert!((0.9..1.1).contains(&ratio) && (one.mean - all.mean).abs() < 10.0);
/// assert!(sample_means(&[], 10, 500, 1).is_empty());
/// ```
pub fn sample_means(values: &[f64], size: usize, samples: usize, seed: u64) -> Vec<f64> {
    if values.is_empty() || size == 0 {
        return Vec::new();
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut drawn = vec![0.0; size];
    let mean = |_| {
        drawn.fill_with(|| values[random.usize(..values.len())]);
        moments(&drawn).map_or(f64::NAN, |moments| moments.mean)
    };
    (0..samples).map(mean).collect()
}
