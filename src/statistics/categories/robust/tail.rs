//! From where on residuals are outliers, by the tail of the noise itself.
//!
//! The longest of many ranks has a longer tail than its middle shows: an exponential one, as the largest of many values
//! of most distributions has (Gumbel, 1958), and on logarithms Pareto's.

use super::jump::sums;
use super::spread::{FALSE_SHARE, Spread};

/// The longest tail that one of these uppermost shares of the values shows is taken.
const SHARES: [f64; 3] = [1.0 / 8.0, 1.0 / 16.0, 1.0 / 32.0];
/// So many values show a tail: a third of a short series, but not less than the first, nor more than the second.
const FEWEST: [usize; 2] = [6, 24];
/// A series with fewer values does not show how heavy the tail is: half as many false outliers are expected in it.
const SHORT: usize = 200;

/// Above this residual are the outliers, of which 3 % are expected to be noise, half as many of a short series.
/// `least`, `tick` and `nearest`: as of [`Spread::beyond`], whose outliers are those that may be some. Sorts the
/// residuals.
pub(super) fn highest(residuals: &mut [f64], least: f64, tick: f64, nearest: f64) -> f64 {
    let spread = Spread::beyond(residuals, least, tick, nearest);
    let count = residuals.len();
    let false_share = if count < SHORT { FALSE_SHARE / 2.0 } else { FALSE_SHARE };
    let fewest = (count / 3).clamp(FEWEST[0], FEWEST[1]);
    let sums = sums(residuals);
    // By the uppermost share of the values below so many outliers. The mean excess of m values over the next one is
    // known as well as 2 m squares show a variance, so the chance of an excess of t times it is (1 + t / m)^-m.
    let by = |outliers: usize, share: f64| {
        let end = count - outliers;
        let many = ((end as f64 * share) as usize).max(fewest);
        let Some(from) = end.checked_sub(many) else { return f64::INFINITY };
        let (next, many) = (residuals[from.saturating_sub(1)], many as f64);
        let excess = ((sums[end] - sums[from]) / many - next).max(least).max(tick / 12.0_f64.sqrt());
        let noise = many * count as f64 / end as f64;
        let rare = (noise / (false_share * outliers.max(1) as f64)).max(1.0);
        next + excess * many * (rare.powf(1.0 / many) - 1.0)
    };
    let fence = |outliers| SHARES.into_iter().map(|share| by(outliers, share)).fold(spread.high, f64::max);
    let candidates = count - residuals.partition_point(|&residual| residual <= spread.high);
    let found = (1..=candidates).rev().find(|&outliers| residuals[count - outliers] > fence(outliers)).unwrap_or(0);
    // Not between equal ones.
    residuals[..count - found].last().copied().unwrap_or(f64::INFINITY).max(fence(found))
}

#[cfg(test)]
mod tests {
    use super::highest;

    /// Noise that is the largest of so many of these values, and 60 series of 1000 each of which has 10 larger ones:
    /// the share of noise among those above the fence, and that of the larger ones which are above it.
    fn shares(ranks: usize, one: impl Fn(&mut fastrand::Rng) -> f64, larger: f64) -> [f64; 2] {
        let mut random = fastrand::Rng::with_seed(9);
        let (mut noise, mut right) = (0, 0);
        for _ in 0..60 {
            let mut longest = |i: usize| {
                let value = (0..ranks).map(|_| one(&mut random)).fold(f64::MIN, f64::max);
                if i < 10 { larger + value } else { value }
            };
            let values: Vec<f64> = (0..1000).map(&mut longest).collect();
            let fence = highest(&mut values.clone(), 1e-3, 0.0, 3.0);
            right += values[..10].iter().filter(|&&value| value > fence).count();
            noise += values[10..].iter().filter(|&&value| value > fence).count();
        }
        [noise as f64 / (noise + right).max(1) as f64, right as f64 / 600.0]
    }

    #[test]
    fn few_outliers_of_the_longest_of_many_ranks_are_noise() {
        let normal = |random: &mut fastrand::Rng| (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let exponential = |random: &mut fastrand::Rng| -(1.0 - random.f64()).ln();
        let gamma = |random: &mut fastrand::Rng| exponential(random) + exponential(random);
        // .6 % is a standard deviation of a share of 2 % of 600.
        for [noise, found] in [shares(32, normal, 20.0), shares(4, gamma, 30.0), shares(1, exponential, 30.0)] {
            assert!(noise <= 0.035 && found >= 0.99, "{noise} {found}");
        }
        let [noise, found] = shares(1, normal, 8.0);
        assert!(noise <= 0.03 && found >= 0.99, "{noise} {found}");
    }

    #[test]
    fn nothing_and_few_values_have_no_outlier() {
        assert_eq!(highest(&mut [], 1e-3, 0.0, 3.0), f64::INFINITY);
        assert!(highest(&mut [1.0, 2.0, 9.0], 1e-3, 0.0, 3.0) >= 9.0);
        let mut equal = vec![5.0; 100];
        assert!(highest(&mut equal, 1e-3, 0.0, 3.0) >= 5.0);
    }
}
