//! The density of a distribution, beside its histogram.

use super::{Sample, moments};

/// Values further than so many bandwidths away add nothing.
const FAR: f64 = 6.0;

/// The density (per ns) of a sample at these values (ns) by a Gaussian kernel, with Silverman's bandwidth 0.9 min(s,
/// IQR / 1.34) n^(-1/5) (Silverman 1986, equation 3.31). Empty where that is 0.
///
/// ```
/// use mpitrace_statistics::{Sample, density};
///
/// let sample = Sample::new(&[1.0, 2.0, 2.5, 3.0, 4.0]);
/// let found = density(&sample, &[2.5, 100.0]);
/// assert!(found[0] > 0.2 && found[1] == 0.0);
/// assert!(density(&Sample::new(&[7.0; 5]), &[7.0]).is_empty());
/// ```
pub fn density(sample: &Sample, at: &[f64]) -> Vec<f64> {
    let n = sample.len() as f64;
    let quartiles = sample.quantile(0.75).zip(sample.quantile(0.25));
    let spread = quartiles.map_or(0.0, |(upper, lower)| (upper - lower) / 1.34);
    let deviation = moments(sample.sorted()).and_then(|moments| moments.standard_deviation).unwrap_or(0.0);
    // Of values more than half of which are equal the quartiles are.
    let narrower = if spread > 0.0 { spread.min(deviation) } else { deviation };
    let bandwidth = 0.9 * narrower * n.powf(-0.2);
    if bandwidth <= 0.0 {
        return Vec::new();
    }
    let sorted = sample.sorted();
    let of_one = |&at: &f64| {
        let from = sorted.partition_point(|&value| value < at - FAR * bandwidth);
        let to = sorted.partition_point(|&value| value <= at + FAR * bandwidth);
        let sum: f64 = sorted[from..to].iter().map(|value| (-0.5 * ((at - value) / bandwidth).powi(2)).exp()).sum();
        sum / (n * bandwidth * (2.0 * std::f64::consts::PI).sqrt())
    };
    at.iter().map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpitrace_testing::Random;

    #[test]
    fn the_density_of_normal_values_is_the_normal_one_and_sums_to_1() {
        let mut random = Random::new(3);
        let sample = Sample::new(&(0..20_000).map(|_| 1000.0 + 50.0 * random.normal()).collect::<Vec<f64>>());
        let at: Vec<f64> = (0..=600).map(|step| 700.0 + f64::from(step)).collect();
        let found = density(&sample, &at);
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-3);
        let expected = 1.0 / (50.0 * (2.0 * std::f64::consts::PI).sqrt());
        assert!((found[300] / expected - 1.0).abs() < 0.05, "{} and {expected}", found[300]);
    }
}
