//! Levels that never rise: those of a warm-up and of what follows.
//!
//! The ones that fit a series best are those of isotonic regression (pooling adjacent violators; Robertson, Wright and
//! Dykstra, 1988). Neighbouring ones that differ by no more than noise are made one, the most alike first (Schell and
//! Singh, 1997).

use super::jump::{HIGHEST, PER_WINDOW, of_difference, of_mean, sums, tails};
use super::memory;
use super::spread::student;
use crate::estimators::distributions::normal_quantile;

/// The chance that two levels differ by noise.
const CHANCE: f64 = 5e-4;
/// So many values must follow.
pub(super) const SETTLED: usize = 8;
/// So many levels are tested.
const TESTED: usize = 64;
/// The correlation of neighbours is known within so many standard errors, each 1 / sqrt(n).
const UNSURE: f64 = 1.0;
/// From this share of it on, the variance of shorter means is known as well.
const KNOWN: f64 = 0.75;
/// Degrees of freedom of what windows show, at least: fewer than such long ones have.
const DEGREES: f64 = 10.0;
/// The degrees of freedom of the model, at least,
const OF_MODEL: f64 = 12.0;
/// and divided by the length of the series.
const BY_MODEL: f64 = 6000.0;
/// The least variance: the values are in standard deviations of most of them.
const LEAST: f64 = 0.05;
/// The variance of a mean times its length grows no faster with each doubling.
const GROWTH: f64 = 1.5;
/// Levels that are higher show no noise.
const CLEAR: f64 = 4.0;
/// So many lengths of windows next to a step, each twice the one before.
const WINDOWS: u32 = 10;

/// Neighbouring values of one level.
#[derive(Clone, Copy)]
pub(super) struct Level {
    pub from: usize,
    pub to: usize,
    sum: f64,
}

impl Level {
    pub(super) fn mean(&self) -> f64 {
        self.sum / self.len()
    }

    pub(super) fn len(&self) -> f64 {
        (self.to - self.from) as f64
    }

    /// The cost of making them one, in squares.
    fn alike(&self, next: &Level) -> f64 {
        (self.mean() - next.mean()).powi(2) * self.len() * next.len() / (self.len() + next.len())
    }
}

/// The levels that fit best and fall, each by more than noise.
pub(super) fn steps(values: &[f64]) -> Vec<Level> {
    let mut levels = falling(values);
    // Too few values at the end are no level.
    while levels.len() > 1 && values.len() - levels[levels.len() - 1].from < SETTLED {
        let last = levels.len() - 2;
        join(&mut levels, last);
    }
    while levels.len() > TESTED {
        let alike = levels.windows(2).map(|pair| pair[0].alike(&pair[1])).enumerate();
        let index = alike.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(index, _)| index);
        join(&mut levels, index);
    }
    loop {
        let noise = Noise::new(values, &levels);
        let before = levels.len();
        while let Some((index, strength)) = weakest(&levels, &noise)
            && strength < 1.0
        {
            join(&mut levels, index);
        }
        if levels.len() == before {
            return levels;
        }
    }
}

fn join(levels: &mut Vec<Level>, index: usize) {
    let next = levels.remove(index + 1);
    let level = &mut levels[index];
    (level.to, level.sum) = (next.to, level.sum + next.sum);
}

fn weakest(levels: &[Level], noise: &Noise) -> Option<(usize, f64)> {
    let strengths = levels.windows(2).map(|pair| noise.strength(&pair[0], &pair[1]));
    strengths.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The levels that fit best and fall.
pub(super) fn falling(values: &[f64]) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for (from, &value) in values.iter().enumerate() {
        levels.push(Level { from, to: from + 1, sum: value });
        while let [.., before, last] = levels.as_slice()
            && before.mean() <= last.mean()
        {
            let last = levels.len() - 2;
            join(&mut levels, last);
        }
    }
    levels
}

struct Noise {
    /// For each place the sum of the values before it.
    sums: Vec<f64>,
    skew: f64,
    excess: f64,
    /// Correlations that neighbours may have, and the variance that goes with each.
    models: [(f64, f64); 3],
    /// For windows of 2^i values: the ratio of the square of their mean to that of independent values.
    means: Vec<f64>,
    /// For windows of 2^i values before a place and of 4^j times as many behind it: the square of the difference of
    /// their means.
    differences: Vec<[Option<f64>; 3]>,
    variance: f64,
    /// How many values show it.
    count: f64,
}

impl Noise {
    fn new(values: &[f64], levels: &[Level]) -> Noise {
        // What is far is cut off, and shows no noise.
        let near: Vec<&Level> = levels.iter().filter(|level| level.mean() <= CLEAR).collect();
        let levels = if near.is_empty() { levels.iter().collect() } else { near };
        let mut residuals = Vec::with_capacity(values.len());
        for level in &levels {
            residuals.extend(values[level.from..level.to].iter().map(|value| value - level.mean()));
        }
        let count = residuals.len() as f64;
        let moment = |power: i32| residuals.iter().map(|value| value.powi(power)).sum::<f64>() / count;
        let free = (count - levels.len() as f64).max(2.0);
        let variance = (moment(2) * count / free).max(LEAST);
        let (skew, excess) = (moment(3) / variance.powf(1.5), moment(4) / (variance * variance) - 3.0);
        let first = memory::first_correlation(&residuals, levels.len());
        let model = |errors: f64| {
            let phi = (first + errors * UNSURE / count.sqrt()).clamp(0.0, HIGHEST);
            let lengths = levels.iter().map(|level| level.len());
            let common = lengths.map(|length| length * of_mean(phi, length)).sum::<f64>() / count;
            (phi, variance * (1.0 - levels.len() as f64 / count).max(0.1) / (1.0 - common).max(0.05))
        };
        let models = [-1.0, 0.0, 1.0].map(model);
        let of_residuals = sums(&residuals);
        let mean = |from: usize, width: usize| (of_residuals[from + width] - of_residuals[from]) / width as f64;
        let longest = (residuals.len() / 5).max(24);
        let (mut means, mut differences) = (Vec::new(), Vec::new());
        for power in 0..WINDOWS {
            let width = 1 << power;
            let places = |length: usize| (0..=residuals.len() - length).step_by((width / 4).max(1));
            if width > longest || width > residuals.len() {
                break;
            }
            let square = mean_square(places(width).map(|from| mean(from, width)));
            // About a mean that these windows are part of.
            let outside = 1.0 - width as f64 / count;
            means.push(square * width as f64 / variance / outside.max(0.5));
            differences.push([width, 4 * width, 16 * width].map(|behind| {
                let both = width + behind;
                let of = |from: usize| mean(from, width) - mean(from + width, behind);
                (both <= longest.min(residuals.len())).then(|| mean_square(places(both).map(of)))
            }));
        }
        Noise { sums: sums(values), skew, excess, models, means, differences, variance, count }
    }

    /// The square of the mean of so many values: as seen, and by the model.
    fn square_of_mean(&self, length: f64) -> [f64; 3] {
        let index = (length.log2().floor() as usize).min(self.means.len() - 1);
        let largest = self.means[index.saturating_sub(2)..=index].iter().copied().fold(0.0, f64::max);
        let known = self.means.iter().position(|&square| square >= KNOWN * largest).unwrap_or(index);
        // Windows that are too long to be seen vary as those that are half as long do, and so on.
        let last = self.means.len() - 1;
        let longer = (length.log2() - last as f64).max(0.0);
        let growth = (self.means[last] / self.means[last.saturating_sub(3)]).cbrt().clamp(1.0, GROWTH);
        let seen = largest * self.variance / length * growth.powf(longer);
        [seen, self.model(|phi| of_mean(phi, length)), (1_usize << known) as f64]
    }

    fn model(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.models.iter().map(|&(phi, variance)| variance * of(phi)).fold(0.0, f64::max)
    }

    /// The difference of two levels over what noise makes of it: of their means, and of windows next to the step.
    fn strength(&self, before: &Level, after: &Level) -> f64 {
        let (a, b) = (before.len(), after.len());
        let [of_a, of_b] = [a, b].map(|length| self.square_of_mean(length));
        let squares = [of_a[0] + of_b[0], of_a[1] + of_b[1]];
        let window = of_a[2].max(of_b[2]);
        // The last of many is as likely to be quick by chance as a few at the start are to be slow.
        let mut strength = self.deviations(before.mean() - after.mean(), squares, a, b, (b / a).min(1.0), window);
        let at = before.to;
        let mean = |from: usize, to: usize| (self.sums[to] - self.sums[from]) / (to - from) as f64;
        for (power, squares) in self.differences.iter().enumerate() {
            for (index, square) in squares.iter().enumerate() {
                let (a, b) = (1 << power, 1 << (power + 2 * index));
                let Some(square) = *square else { continue };
                if a < 2 || a > before.to - before.from || b > after.to - after.from {
                    continue;
                }
                let difference = mean(at - a, at) - mean(at, at + b);
                let (a, b) = (a as f64, b as f64);
                let model = self.model(|phi| of_difference(phi, a, b));
                let share = (a + b) / (4.0 * self.sums.len() as f64);
                strength = strength.max(self.deviations(
                    difference,
                    [square, model],
                    a,
                    b,
                    share,
                    a.min(b).min(self.sums.len() as f64 / 5.0),
                ));
            }
        }
        strength
    }

    /// A difference of the means of `a` and `b` values over what noise makes of it by a chance of this share of
    /// [`CHANCE`]. `squares`: of such differences, as seen and by the model.
    fn deviations(&self, difference: f64, squares: [f64; 2], a: f64, b: f64, share: f64, window: f64) -> f64 {
        let count = self.sums.len() as f64;
        let z = tails(normal_quantile(1.0 - CHANCE * share.min(1.0)), [self.skew, self.excess], a, b);
        let seen = (PER_WINDOW * count / window).max(DEGREES);
        let noise = |square: f64, degrees: f64| square.sqrt() * student(z, degrees.min(self.count - 3.0).max(3.0));
        difference / noise(squares[0], seen).max(noise(squares[1], seen.max(BY_MODEL / count).max(OF_MODEL)))
    }
}

fn mean_square(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value * value, count + 1.0));
    sum / count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(count: usize) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(6);
        (0..count).map(|_| (0..12).map(|_| random.f64()).sum::<f64>() - 6.0).collect()
    }

    #[test]
    fn the_best_levels_that_fall_are_means_of_what_rises() {
        let means: Vec<f64> = falling(&[9.0, 4.0, 6.0, 5.0, 1.0, 3.0]).iter().map(Level::mean).collect();
        assert_eq!(means, [9.0, 5.0, 2.0]);
        assert!(falling(&[]).is_empty());
    }

    #[test]
    fn noise_is_one_level_and_a_fall_two() {
        assert_eq!(steps(&normal(500)).len(), 1);
        let mut values = normal(500);
        values[..40].iter_mut().for_each(|value| *value += 4.0);
        let found = steps(&values);
        assert_eq!(found.len(), 2);
        assert!(found[1].from.abs_diff(40) <= 1, "{}", found[1].from);
        // It rises.
        values.reverse();
        assert_eq!(steps(&values).len(), 1);
    }

    #[test]
    fn a_fall_in_noise_that_wanders_as_far_is_none() {
        let mut sum = 0.0;
        let wander = |step: &f64| {
            sum = 0.98 * sum + 0.2 * step;
            sum
        };
        let mut values: Vec<f64> = normal(500).iter().map(wander).collect();
        values[..100].iter_mut().for_each(|value| *value += 1.0);
        assert_eq!(steps(&values).len(), 1);
    }

    #[test]
    fn a_long_decay_ends_where_noise_hides_it() {
        let mut values = normal(1000);
        values.iter_mut().enumerate().for_each(|(i, value)| *value += 20.0 * (-(i as f64) / 50.0).exp());
        let end = steps(&values).last().map_or(0, |level| level.from);
        // 1.5 and 0.1 standard deviations are left at 130 and 265.
        assert!((130..265).contains(&end), "{end}");
    }
}
