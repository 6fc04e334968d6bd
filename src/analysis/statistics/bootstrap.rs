//! The bootstrap interval of the median (Efron 1979), without drawing the resamples.

use super::{Interval, Random, Sample};

/// The percentile interval of the median over so many resamples. The same seed gives the same interval.
///
/// A resample draws n of the n values with replacement; its median depends on the ranks of the middle draws only. The
/// m-th smallest of n uniform numbers is Beta(m, n - m + 1), so that these are drawn at once, in constant time whatever
/// n is: the distribution is that of drawing n values, since the value drawn by a uniform number u is the one of rank
/// floor(n u).
pub fn median_interval(sample: &Sample, confidence: f64, resamples: usize, seed: u64) -> Option<Interval> {
    let n = sample.len();
    if n < 2 || resamples == 0 {
        return None;
    }
    let mut random = Random::new(seed);
    let medians: Vec<f64> = (0..resamples).map(|_| resampled(sample.sorted(), &mut random)).collect();
    let medians = Sample::new(&medians);
    let tail = (1.0 - confidence) / 2.0;
    Some(Interval { lower: medians.quantile(tail)?, upper: medians.quantile(1.0 - tail)?, coverage: confidence })
}

/// The median of one resample.
fn resampled(sorted: &[f64], random: &mut Random) -> f64 {
    let n = sorted.len();
    let value = |u: f64| sorted[((u * n as f64) as usize).min(n - 1)];
    // The lower middle draw, counted from 1.
    let lower = n.div_ceil(2);
    let (below, above) = (random.gamma(lower as f64), random.gamma((n - lower + 1) as f64));
    let u = below / (below + above);
    if n % 2 == 1 {
        return value(u);
    }
    // The next one is the smallest of the n - m uniform numbers above u.
    let next = 1.0 - (1.0 - u) * random.uniform().powf(1.0 / (n - lower) as f64);
    f64::midpoint(value(u), value(next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::median;

    #[test]
    fn it_is_reproducible_and_another_seed_gives_another_one() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i * i)).collect();
        let sample = Sample::new(&values);
        let of = |seed| median_interval(&sample, 0.95, 1000, seed);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_eq!(median_interval(&Sample::new(&[1.0]), 0.95, 1000, 1), None);
    }

    #[test]
    fn it_is_the_interval_of_resamples_that_are_really_drawn() {
        let mut random = Random::new(5);
        for n in [2, 5, 20, 101] {
            let values: Vec<f64> = (0..n).map(|_| random.gamma(3.0)).collect();
            let sample = Sample::new(&values);
            let mut draw = || {
                let mut drawn: Vec<f64> = (0..n).map(|_| values[random.bits() as usize % n]).collect();
                median(&mut drawn).unwrap()
            };
            let drawn = Sample::new(&(0..20_000).map(|_| draw()).collect::<Vec<_>>());
            let found = median_interval(&sample, 0.95, 20_000, 7).unwrap();
            // Both estimate the same quantiles from 20 000 resamples: 0.025 +- 0.003 at 99 %.
            for (value, tail) in [(found.lower, 0.025), (found.upper, 0.975)] {
                let range = [tail - 0.006, tail + 0.006].map(|p| drawn.quantile(p).unwrap());
                assert!((range[0]..=range[1]).contains(&value), "{n} values: {value} is not in {range:?}");
            }
        }
    }
}
