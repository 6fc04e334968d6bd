//! How much the repetitions of a level scatter, and from where on they are outliers.

use crate::estimators::distributions::normal_tail;
use crate::estimators::sort;

/// The share of false ones among the outliers.
pub(super) const FALSE_SHARE: f64 = 0.03;
/// Nothing nearer than so many standard deviations is an outlier.
const NEAREST: f64 = 3.0;
/// The share from which slow values are a mode.
const MODE: f64 = 0.15;
/// A spread is that of so many modes at most.
const MODES: usize = 3;
/// Quantiles of so many repetitions are known as well as a standard deviation by one degree of freedom.
const PER_DEGREE: f64 = 3.0;

/// The scatter of residuals, outliers apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    /// Standard deviation, from the middle downwards and upwards: noise is skewed.
    pub below: f64,
    pub above: f64,
    /// Values below this or above the next are outliers.
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// The spread of residuals, which it sorts. `least`: the smallest standard deviation that can be known. `tick`: the
    /// tick of the clock; no neighbouring tick is an outlier.
    ///
    /// The outliers are the largest set in which the expected share of false ones is 3 %, by the procedure of Benjamini
    /// and Hochberg (1995), with the tail of Student's distribution, since the spread is estimated. They are left
    /// out and the spread is estimated again, until no more are found.
    pub(super) fn new(residuals: &mut [f64], least: f64, tick: f64) -> Spread {
        Spread::beyond(residuals, least, tick, NEAREST)
    }

    /// The spread of residuals in which no outlier is nearer than `nearest` standard deviations.
    pub(super) fn beyond(residuals: &mut [f64], least: f64, tick: f64, nearest: f64) -> Spread {
        sort(residuals);
        of_sorted(residuals, least.max(tick / 12.0_f64.sqrt()), tick, nearest, MODES)
    }

    /// True if a residual is one of the usual ones.
    pub(super) fn holds(&self, residual: f64) -> bool {
        residual >= self.low && residual <= self.high
    }
}

/// `modes`: so many may follow.
fn of_sorted(sorted: &[f64], least: f64, tick: f64, nearest: f64, modes: usize) -> Spread {
    let count = sorted.len();
    let (mut from, mut to) = (0, count);
    let mut spread = Spread { below: least, above: least, low: f64::NEG_INFINITY, high: f64::INFINITY };
    if count == 0 {
        return spread;
    }
    for _ in 0..6 {
        let kept = &sorted[from..to];
        let quantile = |share: f64| kept[((kept.len() - 1) as f64 * share).round() as usize];
        let middle = quantile(0.5);
        let below = ((middle - quantile(0.1587)).max((middle - quantile(0.25)) / 0.6745)).max(least);
        let above = ((quantile(0.75) - middle) / 0.6745).max(below);
        let below = below.max((middle - quantile(0.25)) / 0.6745);
        let distant = |z: f64| deviations(z, count as f64 / PER_DEGREE);
        let next = |deviation: f64| nearest.max(1.01 * tick / deviation);
        let high = fence(count, |i| (sorted[count - 1 - i] - middle) / above, distant, next(above));
        let low = fence(count, |i| (middle - sorted[i]) / below, distant, next(below));
        spread = Spread { below, above, low: middle - low.at * below, high: middle + high.at * above };
        if high.count as f64 > MODE * count as f64 && modes > 0 {
            // What they do usually is not far from the others.
            let slow = of_sorted(&sorted[count - high.count..], least, tick, nearest, modes - 1);
            let mode = sorted[count - high.count / 2 - 1];
            spread.high = slow.high.max(mode);
            spread.above = (mode - middle) / 2.0;
            spread.low = spread.low.min(middle - (mode - middle));
            return spread;
        }
        let before = (from, to);
        (from, to) = (low.count, count - high.count);
        if before == (from, to) || to <= from + count / 3 {
            break;
        }
    }
    spread
}

/// How far out the outliers of one side begin.
pub(super) struct Fence {
    /// Standard deviations from the middle.
    pub at: f64,
    /// So many lie beyond.
    pub count: usize,
}

/// The fence of values whose i-th most distant one is `z` standard deviations away, which `distant` corrects for the
/// degrees of freedom.
pub(super) fn fence(count: usize, z: impl Fn(usize) -> f64, distant: impl Fn(f64) -> f64, nearest: f64) -> Fence {
    let mut found = 0;
    for i in 0..count {
        let z = z(i);
        if z < nearest {
            break;
        }
        if normal_tail(distant(z)) * count as f64 <= FALSE_SHARE * (i + 1) as f64 {
            found = i + 1;
        }
    }
    if found > 0 {
        let next = if found < count { z(found) } else { 0.0 };
        // Just above the others.
        return Fence { at: (next + 0.02 * (z(found - 1) - next)).max(nearest), count: found };
    }
    // None: where a single one would be.
    let at = (0..200).map(|step| nearest + 0.1 * f64::from(step));
    let single = at.into_iter().find(|&z| normal_tail(distant(z)) * count as f64 <= FALSE_SHARE);
    Fence { at: single.unwrap_or(f64::INFINITY), count: 0 }
}

/// The place so many estimated standard deviations from the mean, by so many degrees of freedom, in those of a normal
/// distribution with the same tail (Wallace, Bounds on normal approximations to Student's, 1959).
pub(super) fn deviations(t: f64, degrees: f64) -> f64 {
    let correction = (8.0 * degrees + 1.0) / (8.0 * degrees + 3.0);
    correction * (degrees * (t * t / degrees).ln_1p()).sqrt()
}

/// The inverse of [`deviations`].
pub(super) fn student(z: f64, degrees: f64) -> f64 {
    let corrected = z * (8.0 * degrees + 3.0) / (8.0 * degrees + 1.0);
    (degrees * (corrected * corrected / degrees).exp_m1()).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(count: usize) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(8);
        (0..count).map(|_| (0..12).map(|_| random.f64()).sum::<f64>() - 6.0).collect()
    }

    #[test]
    fn outliers_do_not_widen_the_spread_of_the_others() {
        let mut values = normal(1000);
        (0..100).for_each(|i| values[10 * i] = 6.0 + f64::from(u32::try_from(i).unwrap()) / 10.0);
        let spread = Spread::new(&mut values.clone(), 1e-3, 0.0);
        assert!((0.9..1.15).contains(&spread.above), "{spread:?}");
        assert!((2.8..6.0).contains(&spread.high), "{spread:?}");
        assert!(values.iter().filter(|&&value| value > spread.high).count().abs_diff(100) <= 3);
        assert!(spread.holds(2.5) && !spread.holds(6.0) && !spread.holds(-9.0));
    }

    #[test]
    fn one_of_few_must_be_farther_out_to_be_an_outlier() {
        let far_out = |count: usize| {
            let spread = Spread::new(&mut normal(count), 1e-3, 0.0);
            spread.high / spread.above
        };
        assert!(far_out(1000) < 5.0 && far_out(20) > far_out(1000) + 0.2, "{} {}", far_out(1000), far_out(20));
    }

    #[test]
    fn a_mode_of_a_fifth_is_not_made_of_outliers() {
        let mut values: Vec<f64> = normal(1000);
        values.iter_mut().step_by(5).for_each(|value| *value += 20.0);
        values[3] = 60.0;
        let spread = Spread::new(&mut values, 1e-3, 0.0);
        assert!(spread.holds(21.0) && !spread.holds(60.0), "{spread:?}");
    }

    #[test]
    fn the_neighbouring_tick_is_no_outlier() {
        let mut values: Vec<f64> =
            (0..1000).map(|i| [0.0, 20.0, -20.0][usize::from(i % 20 == 0) + usize::from(i % 40 == 0)]).collect();
        let spread = Spread::new(&mut values, 1e-3, 20.0);
        assert!(spread.holds(20.0) && spread.holds(-20.0) && !spread.holds(80.0), "{spread:?}");
    }

    #[test]
    fn nothing_and_one_value_have_the_least_spread() {
        assert_eq!(Spread::new(&mut [], 0.5, 0.0).above, 0.5);
        assert_eq!(Spread::new(&mut [3.0], 0.5, 0.0).above, 0.5);
    }

    #[test]
    fn students_tail_is_as_far_out_as_its_table_says() {
        // 1 in 1000 above: 3.0902 for a normal distribution; 10.21, 4.144 and 3.174 for 3, 10 and 100 degrees.
        for (degrees, t) in [(3.0, 10.2145), (10.0, 4.1437), (100.0, 3.1737)] {
            // Wallace's approximation is 7 % too far out at 3 degrees.
            assert!((student(3.0902, degrees) / t - 1.0).abs() < 0.25 / degrees, "{}", student(3.0902, degrees));
            assert!((deviations(student(2.0, degrees), degrees) - 2.0).abs() < 1e-9);
        }
    }
}
