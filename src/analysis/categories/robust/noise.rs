//! How much repetitions scatter, and how much of that they share with their neighbours.

/// The noise around a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Standard deviation of one repetition.
    pub sigma: f64,
    /// By how much the variance of the mean of many repetitions exceeds that of independent ones: n over the effective
    /// n.
    pub inflation: f64,
}

/// No timer and no level is better known than this relative difference; it stands for the noise of equal values.
const LEAST_SIGMA: f64 = 1e-3;
/// So many pairs of a lag tell its median difference within 1 %.
const PAIRS: usize = 1 << 13;
/// Longer memory than this is taken for a change of the level.
const LONGEST_LAG: u32 = 64;
/// Correlations below this cannot be told from none in 1000 repetitions.
const CORRELATED: f64 = 0.15;
/// A correlation that falls by less than this a lag is taken to fall by that: 100 repetitions of memory.
const LONGEST_MEMORY: f64 = 0.99;
/// So long a series tells its own correlation at all lags; a shorter one is taken to be autoregressive.
const LONG: usize = 200;

impl Noise {
    /// The noise of a series with few changes of its level, which the median of the differences at a lag does not see.
    ///
    /// Half the squared difference at lag h is sigma^2 (1 - rho_h), for a normal distribution; sigma^2 is what it comes
    /// to at long lags. For an AR(1) series the ratio of the differences at lags 2 and 1 is 1 + phi, which short ones
    /// are judged by (Chakar et al., A robust approach for estimating change-points in the mean of an AR(1) process,
    /// 2017).
    pub fn of(y: &[f64]) -> Noise {
        let noise = if y.len() < LONG { of_short(y) } else { of_long(y) };
        match noise.sigma > LEAST_SIGMA {
            true => noise,
            false => Noise { sigma: LEAST_SIGMA, inflation: 1.0 },
        }
    }
}

fn of_long(y: &[f64]) -> Noise {
    let lags: Vec<(usize, f64)> =
        (0..=LONGEST_LAG.ilog2()).map(|power| (1 << power, half_square(y, 1 << power, MIDDLE))).collect();
    // No longer correlated at the last two; each by itself scatters by 7 % in 1000 repetitions.
    let uncorrelated = &lags[lags.len() - 2..];
    let variance = uncorrelated.iter().map(|&(_, variance)| variance).sum::<f64>() / 2.0;
    let variance = variance.max(lags[0].1);
    // More than one in 13 slow repetitions, each by itself, are noise as well; the middle difference does not see them.
    let tail = |lag: usize| half_square(y, lag, UPPER) / half_square(y, lag, MIDDLE).max(f64::MIN_POSITIVE);
    let tails = tail(1).max(tail(2));
    let heavy = if tails > HEAVY { tails } else { 1.0 };
    Noise { sigma: (variance * heavy).sqrt(), inflation: inflation(&lags, variance) }
}

fn of_short(y: &[f64]) -> Noise {
    if y.len() < 3 {
        return Noise { sigma: 0.0, inflation: 1.0 };
    }
    let (next, second) = (mean_square(y, 1), mean_square(y, 2));
    let phi = if next > 0.0 { (second / next - 1.0 - UNSURE / y.len() as f64).clamp(0.0, 0.9) } else { 0.0 };
    Noise { sigma: (next / (1.0 - phi)).sqrt(), inflation: (1.0 + phi) / (1.0 - phi) }
}

/// phi scatters by 0.6 in 20 repetitions and by 0.25 in 50, so as many over n; only what is beyond that is believed.
const UNSURE: f64 = 14.0;

/// A quantile of the absolute values of a normal distribution, and how many standard deviations it is.
#[derive(Clone, Copy)]
struct Quantile {
    share: f64,
    deviations: f64,
}

const MIDDLE: Quantile = Quantile { share: 0.5, deviations: 0.67449 };
const UPPER: Quantile = Quantile { share: 0.85, deviations: 1.43953 };
/// The same quantile of 1000 normal differences is above this many times the middle one's variance once in 10^4.
const HEAVY: f64 = 1.5;

/// Half the squared difference of the repetitions `lag` apart: sigma^2 (1 - rho), told from a quantile of the
/// differences.
fn half_square(y: &[f64], lag: usize, quantile: Quantile) -> f64 {
    let pairs = y.len() - lag;
    let step = pairs.div_ceil(PAIRS).max(1);
    let mut differences: Vec<f64> = (0..pairs).step_by(step).map(|i| (y[i + lag] - y[i]).abs()).collect();
    let index = (quantile.share * differences.len() as f64) as usize;
    let difference = *differences.select_nth_unstable_by(index, f64::total_cmp).1;
    (difference / quantile.deviations).powi(2) / 2.0
}

/// The same, told from the mean square of the differences but for the tenth that is largest, which are changes and
/// outliers: less of a scatter in a short series.
fn mean_square(y: &[f64], lag: usize) -> f64 {
    let mut squares: Vec<f64> = (lag..y.len()).map(|i| (y[i] - y[i - lag]).powi(2)).collect();
    squares.sort_unstable_by(f64::total_cmp);
    squares.truncate((squares.len() * 9 / 10).saturating_sub(1).max(1));
    // Of a normal distribution's squares, the lower nine tenths have a mean of 0.623.
    squares.iter().sum::<f64>() / squares.len() as f64 / 0.623 / 2.0
}

/// 1 + 2 sum of rho_h: straight lines between the lags that were measured, up to where it is lost in the noise; from
/// there on it falls as it did on the way there, by the same share a lag.
fn inflation(lags: &[(usize, f64)], variance: f64) -> f64 {
    let mut sum = 0.0;
    let mut before = (0, 1.0);
    for &(lag, at) in lags {
        let rho = 1.0 - at / variance;
        if rho < CORRELATED {
            break;
        }
        // The lags after the one before, up to this one.
        let count = (lag - before.0) as f64;
        sum += count * (before.1 + rho) / 2.0 + (rho - before.1) / 2.0;
        before = (lag, rho);
    }
    if let (lag @ 1.., rho) = before {
        let share = rho.powf(1.0 / lag as f64).min(LONGEST_MEMORY);
        sum += rho * share / (1.0 - share);
    }
    1.0 + 2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Autoregressive, of variance 1.
    fn autoregressive(length: usize, phi: f64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(5);
        let mut y = 0.0;
        let mut next = || {
            let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
            y = phi * y + (1.0 - phi * phi).sqrt() * normal;
            y
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn independent_noise_has_its_deviation_and_no_memory() {
        let noise = Noise::of(&autoregressive(100_000, 0.0));
        assert!((noise.sigma - 1.0).abs() < 0.03, "{noise:?}");
        assert_eq!(noise.inflation, 1.0);
    }

    #[test]
    fn memory_makes_fewer_independent_repetitions_of_many() {
        for (phi, least, most) in [(0.5, 2.6, 3.4), (0.9, 15.0, 22.0)] {
            // Exactly (1 + phi) / (1 - phi): 3 and 19.
            let noise = Noise::of(&autoregressive(100_000, phi));
            assert!((least..most).contains(&noise.inflation), "{noise:?}");
            assert!((noise.sigma - 1.0).abs() < 0.1, "{noise:?}");
        }
    }

    #[test]
    fn a_change_of_the_level_is_no_noise() {
        let mut y = autoregressive(1000, 0.0);
        let before = Noise::of(&y);
        y[..100].iter_mut().for_each(|y| *y += 20.0);
        let after = Noise::of(&y);
        assert!((after.sigma / before.sigma - 1.0).abs() < 0.1, "{before:?} {after:?}");
        assert!(after.inflation < 1.5, "{after:?}");
    }

    #[test]
    fn slow_repetitions_that_are_many_are_noise() {
        let mut y = autoregressive(1000, 0.0);
        let mut random = fastrand::Rng::with_seed(6);
        y.iter_mut().filter(|_| random.f64() < 0.15).for_each(|y| *y += 10.0);
        // The middle difference alone would say 1.2; all of them together, 3.7.
        assert!(Noise::of(&y).sigma > 3.0, "{:?}", Noise::of(&y));
    }

    #[test]
    fn equal_values_and_next_to_none_have_the_least_noise() {
        for length in [0, 1, 2, 3, 100, 1000] {
            assert_eq!(Noise::of(&vec![3.0; length]), Noise { sigma: LEAST_SIGMA, inflation: 1.0 });
        }
    }
}
