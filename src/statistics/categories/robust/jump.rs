//! The significance of a change of the level: is it more than the same noise does elsewhere?
//!
//! The means of `a` values before a place and of `b` behind it differ: by noise alone at all other places, by noise and
//! the change at this one. How much they differ elsewhere is the scale, so that no model of the noise is needed: a
//! self-normalised test (Shao and Zhang, Testing for change points in time series, 2010; Zhao, Jiang and Shao,
//! Segmenting time series via self-normalisation, 2022), in windows of many lengths (Eichinger and Kirch, A MOSUM
//! procedure for the estimation of multiple random change points, 2018).

use super::memory;
use super::spread::student;
use crate::estimators::distributions::normal_quantile;
use crate::estimators::median;

/// Windows before a place.
const WINDOWS: [usize; 16] = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512];
/// A difference that is matched elsewhere, in the other direction, by one larger than this share of it is repeated.
const REPEATED: f64 = 1.0 / 1.2;
/// The chance of such a repetition at the place itself must be below this.
const REPEATS: f64 = 0.02;
/// The values next behind a place that show their own scatter.
const BESIDE: usize = 30;
/// So long a series shows by itself what its windows differ by.
const LONG: usize = 500;
/// Its chance of a false change is divided by this: neighbours may be correlated, which no model of the noise allows
/// for.
const WITHOUT_MODEL: f64 = 8.0;
/// From so many places on, the largest differences are left out of the scale.
const MANY: usize = 100;
/// The correlation of neighbours is known within so many standard errors, each 1 / sqrt(n).
pub(super) const UNSURE: f64 = 1.3;
/// No correlation of neighbours is higher: a longer memory than that cannot be told from none in a few thousand values.
pub(super) const HIGHEST: f64 = 0.98;
/// Windows that overlap by half have so many degrees of freedom for each one that does not.
pub(super) const PER_WINDOW: f64 = 1.5;
/// Divided by the length of the series: degrees of freedom that the model adds.
const BY_MODEL: f64 = 1500.0;
/// Values by which the variance of a short side is held to that of all.
const PRIOR: f64 = 6.0;

/// The usual values of a series around their levels.
pub(super) struct Noise {
    residuals: Vec<f64>,
    sums: Vec<f64>,
    variance: f64,
    /// Third and fourth cumulant, in standard deviations.
    skew: f64,
    excess: f64,
    /// Correlations that neighbours may have, and the variance of the noise that goes with each: residuals from levels
    /// of their own vary by less.
    models: Vec<(f64, f64)>,
    /// The variance that is known at best: of the clock's ticks.
    least: f64,
}

/// A change to be tested: an index into the residuals, how many of them its level before and its level behind hold, and
/// the difference of both levels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub at: usize,
    pub before: usize,
    pub behind: usize,
    /// Level before minus level behind.
    pub fall: f64,
    /// True if the level before is that of the beginning.
    pub first: bool,
}

impl Noise {
    /// The noise of residuals. `starts`: where each level begins among them, and the end of the last. `least`: the
    /// smallest standard deviation that can be known.
    pub(super) fn new(residuals: Vec<f64>, starts: &[usize], least: f64) -> Noise {
        let sums = sums(&residuals);
        let count = residuals.len() as f64;
        let mean = sums[residuals.len()] / count.max(1.0);
        let variance = residuals.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        let moment =
            |power: i32| residuals.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / count.max(1.0);
        let scale = if variance > 0.0 { variance } else { 1.0 };
        let (skew, excess) = (moment(3) / scale.powf(1.5), moment(4) / (scale * scale) - 3.0);
        let levels = starts.len().saturating_sub(1);
        let correlation = memory::first_correlation(&residuals, levels) + UNSURE / count.sqrt();
        let variance = variance.max(least * least);
        let highest = correlation.clamp(0.0, HIGHEST);
        let lowest = (correlation - 2.0 * UNSURE / count.sqrt()).clamp(0.0, HIGHEST);
        let model = |step: u32| {
            let phi = lowest + (highest - lowest) * f64::from(step) / 8.0;
            let lengths = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).filter(|&length| length > 0.0);
            let common = lengths.map(|length| length * of_mean(phi, length)).sum::<f64>() / count.max(1.0);
            let lost = (1.0 - common).max(0.05) / (1.0 - levels as f64 / count).max(0.1);
            (phi, variance / lost)
        };
        let models = (0..=8).map(model).collect();
        Noise { residuals, sums, variance, skew, excess, models, least }
    }

    pub(super) fn len(&self) -> usize {
        self.residuals.len()
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        (self.sums[to] - self.sums[from]) / (to - from) as f64
    }

    /// The largest difference over its threshold: above 1 the change is more than noise. `chance`: of a false one.
    pub(super) fn strength(&self, change: Change, chance: f64) -> f64 {
        let Change { at, before, behind, fall, first } = change;
        let count = self.len();
        if before < 2 || behind < 2 {
            return 0.0;
        }
        let chance = if count < LONG { chance } else { chance / WITHOUT_MODEL };
        let longest = (count / 5).max(24);
        let wider = self.wider(at - before, at).max(self.wider(at, at + behind.min(before.max(BESIDE))));
        let whole = (before <= longest / 2).then_some(before);
        let mut strength: f64 = 0.0;
        for a in WINDOWS.into_iter().filter(|&a| a < before).chain(whole) {
            for b in [a, 4 * a, 16 * a] {
                let b = b.min(behind);
                if a + b > longest || (b < a && b < 8) {
                    continue;
                }
                let difference = fall + self.mean(at - a, at) - self.mean(at, at + b);
                let places = if first { before as f64 / a as f64 } else { count as f64 / (a + b) as f64 };
                let Some(square) = self.elsewhere(a, b, difference, REPEATS / places) else { continue };
                let degrees = degrees(count as f64, (a + b) as f64);
                let deviations = normal_quantile(1.0 - chance / places.max(1.0));
                let model = if count < LONG {
                    self.model(a, b)
                } else {
                    self.least * self.least * (1.0 / a as f64 + 1.0 / b as f64)
                };
                let scale = square.max(model).sqrt() * wider;
                let skew = difference.signum() * self.skew;
                let tails = tails(deviations, [skew, self.excess], a as f64, b as f64);
                strength = strength.max(difference.abs() / (scale * student(tails, degrees)));
            }
        }
        strength
    }

    /// By how much the values of a part scatter more than all.
    fn wider(&self, from: usize, to: usize) -> f64 {
        let mean = self.mean(from, to);
        let square = self.residuals[from..to].iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let count = (to - from) as f64;
        let of_part = (square + PRIOR * self.variance) / (count - 1.0 + PRIOR);
        (of_part / self.variance).max(1.0).sqrt()
    }

    /// The usual square of what windows of these lengths differ by at all places. `None`: more than this share of them
    /// repeat the difference, in the other direction.
    fn elsewhere(&self, a: usize, b: usize, difference: f64, most_repeated: f64) -> Option<f64> {
        let sums = &self.sums;
        let (of_a, of_b) = (1.0 / a as f64, 1.0 / b as f64);
        // A fall is repeated by a rise of the same size, which a process that comes and goes has as well.
        let sign = -difference.signum();
        let least = difference.abs() * REPEATED;
        let mut repeated = 0_usize;
        let places = self.len() + 1 - a - b;
        // Windows that overlap by most of their length differ by the same.
        let stride = (a / 4).max(1);
        let mut others = Vec::with_capacity(places / stride + 1);
        for from in (0..places).step_by(stride) {
            let other = (sums[from + a] - sums[from]) * of_a - (sums[from + a + b] - sums[from + a]) * of_b;
            repeated += usize::from(sign * other >= least);
            others.push(other);
        }
        if repeated as f64 / others.len() as f64 > most_repeated {
            return None;
        }
        // About their middle: a steady trend is no noise.
        let middle = if places < MANY {
            others.iter().sum::<f64>() / others.len() as f64
        } else {
            median(&mut others).unwrap_or(0.0)
        };
        others.iter_mut().for_each(|other| *other -= middle);
        Some(usual_square(&mut others, places >= MANY))
    }

    /// The variance of such a difference in first-order autoregressive noise: the largest that its correlation allows.
    fn model(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (a as f64, b as f64);
        let least = self.least * self.least * (1.0 / a + 1.0 / b);
        self.models.iter().map(|&(phi, variance)| variance * of_difference(phi, a, b)).fold(least, f64::max)
    }
}

/// So many standard deviations of a normal distribution, in those of the difference of the means of `a` and `b` values
/// of this skew and excess: skewed noise and noise with tails makes it wider (Cornish and Fisher, 1938). The cumulants
/// of a mean follow from those of the values.
pub(super) fn tails(z: f64, [skew, excess]: [f64; 2], a: f64, b: f64) -> f64 {
    let spread = 1.0 / a + 1.0 / b;
    let skew = skew * (1.0 / (a * a) - 1.0 / (b * b)) / spread.powf(1.5);
    let excess = excess * (a.powi(-3) + b.powi(-3)) / (spread * spread);
    let (skew, excess) = (skew.clamp(0.0, 2.0), excess.clamp(0.0, 6.0));
    z + (z * z - 1.0) * skew / 6.0 + (z * z * z - 3.0 * z) * excess / 24.0
}

/// The mean square of these differences: without the quarter that is largest, which other changes may have made, where
/// they are many.
fn usual_square(differences: &mut [f64], many: bool) -> f64 {
    let mut squares: Vec<f64> = differences.iter().map(|difference| difference * difference).collect();
    let count = squares.len();
    let kept = count * 3 / 4;
    if many && kept > 0 {
        squares.select_nth_unstable_by(kept, f64::total_cmp);
        // Of a normal distribution's squares, the lower three quarters have a mean of 0.3684.
        return squares[..kept].iter().sum::<f64>() / kept as f64 / 0.3684;
    }
    squares.iter().sum::<f64>() / count.max(1) as f64
}

/// The variance of the difference of the means of two neighbouring windows of `a` and `b` values, of a first-order
/// autoregressive process of variance 1.
pub(super) fn of_difference(phi: f64, a: f64, b: f64) -> f64 {
    let together = phi * (1.0 - phi.powf(a)) * (1.0 - phi.powf(b)) / (1.0 - phi).powi(2) / (a * b);
    of_mean(phi, a) + of_mean(phi, b) - 2.0 * together
}

/// The variance of the mean of so many values of a first-order autoregressive process of variance 1.
pub(super) fn of_mean(phi: f64, count: f64) -> f64 {
    let geometric = (1.0 - phi.powf(count)) / (1.0 - phi);
    (1.0 + 2.0 * phi / (1.0 - phi) * (1.0 - geometric / count)) / count
}

/// The degrees of freedom of a scale from all windows of this length together: Student's threshold is higher where they
/// are few. In a short series the model of the noise, which all values have part in, adds to them.
fn degrees(count: f64, window: f64) -> f64 {
    (PER_WINDOW * count / window).max(BY_MODEL / count).max(6.0).min(count - 3.0).max(3.0)
}

/// The sums of the values before each, and of all.
pub(super) fn sums(values: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut sums = vec![0.0];
    sums.extend(values.iter().map(|value| {
        sum += value;
        sum
    }));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn white(count: usize) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(3);
        (0..count).map(|_| (0..12).map(|_| random.f64()).sum::<f64>() - 6.0).collect()
    }

    fn strength(noise: &Noise, at: usize, fall: f64) -> f64 {
        let change = Change { at, before: at, behind: noise.len() - at, fall, first: true };
        noise.strength(change, 1e-3)
    }

    #[test]
    fn a_fall_is_held_against_what_the_noise_does_elsewhere() {
        let noise = Noise::new(white(500), &[0, 100, 500], 1e-3);
        assert!(strength(&noise, 100, 0.1) < 1.0);
        assert!(strength(&noise, 100, 3.0) > 1.5);
        // The same fall in noise that wanders as far is nothing.
        let mut sum = 0.0;
        let wandering = white(500)
            .iter()
            .map(|step| {
                sum = 0.99 * sum + 0.5 * step;
                sum
            })
            .collect();
        let noise = Noise::new(wandering, &[0, 100, 500], 1e-3);
        assert!(strength(&noise, 100, 1.0) < 1.0);
    }

    #[test]
    fn a_fall_that_rises_repeat_is_no_change() {
        let mut values = white(500);
        values.iter_mut().enumerate().filter(|(i, _)| i / 50 % 2 == 1).for_each(|(_, value)| *value += 10.0);
        let noise = Noise::new(values, &[0, 100, 500], 1e-3);
        assert!(strength(&noise, 100, 0.0) < 1.0);
    }

    #[test]
    fn one_repetition_is_no_level() {
        let noise = Noise::new(white(100), &[0, 1, 100], 1e-3);
        assert_eq!(strength(&noise, 1, 100.0), 0.0);
    }

    #[test]
    fn the_tail_of_a_skewed_mean_is_wide() {
        // The mean of three exponential numbers: one in 1000 is 4.75 standard deviations above its expectation.
        let mut noise = Noise::new(white(100), &[0, 100], 1e-3);
        (noise.skew, noise.excess) = (2.0, 6.0);
        let tail = tails(3.0902, [noise.skew, noise.excess], 3.0, 1e6);
        assert!((4.5..6.5).contains(&tail), "{tail}");
        (noise.skew, noise.excess) = (0.0, 0.0);
        assert_eq!(tails(3.0902, [noise.skew, noise.excess], 3.0, 1e6), 3.0902);
    }
}
