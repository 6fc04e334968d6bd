//! Good repetitions that are not one level: so many of them are so slow that their median does not describe them.
//!
//! The robust rule takes what more than 15 % of the repetitions do for a mode, and scattered slow repetitions are none.
//! Slow are those far above the median; where as many are slow as not, or more, those of the upper one of two modes.

use std::fmt;

use serde::Serialize;

use super::{Category, Levels, two_modes};
use crate::{median_of, order_statistics};

/// Good repetitions that are not one level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NotOneLevel {
    /// The slow ones of the good repetitions.
    pub slow: usize,
    /// All good ones.
    pub good: usize,
    /// The median of the slow ones over that of the others, each in multiples of its level.
    pub ratio: f64,
    /// The median of the slow ones, ns.
    pub slow_median_ns: f64,
    /// The median of the others, ns.
    pub level_median_ns: f64,
}

impl fmt::Display for NotOneLevel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let NotOneLevel { slow, good, ratio, .. } = self;
        let digits = usize::from(*ratio < 10.0);
        let share = 100.0 * *slow as f64 / *good as f64;
        write!(
            f,
            "the good repetitions are not one level: {slow} of {good} ({share:.0} %) take {ratio:.digits$} times as long, \
             by the medians"
        )
    }
}

/// The share of the good repetitions that are looked at, and how many they are at least.
const SLOW: f64 = 0.05;
const FEWEST: usize = 4;
/// They take so many times the level, ...
const RATIO: f64 = 4.0;
/// ... and are, on logarithms, so many times as far above it as the fastest twentieth are below it. With these two no
/// stationary noise of benches/series is said not to be one level (docs/developers/measurements.md); with 3 and 10 one
/// in 700 series of Pareto's distribution is.
const SKEW: f64 = 8.0;
/// A time that is no more than so many steps of the clock above the level may be on it.
const STEPS: f64 = 2.0;
/// Slow are those so many times as far above the level as the fastest twentieth are below it.
const BEYOND: f64 = 3.0;

/// Looks at the good ones of these repetitions, which have these numbers, run times in ns and categories. Each is held
/// against its own level where `levels` has several. `None` where they are one level, or too few.
pub(super) fn not_one_level(
    repetition: &[u64],
    run_time_ns: &[f64],
    category: &[Category],
    levels: Option<&Levels>,
) -> Option<NotOneLevel> {
    let level = |&number: &u64| Levels::of_repetition(levels, number);
    let good = || repetition.iter().zip(run_time_ns).zip(category).filter(|(_, category)| **category == Category::Good);
    let is_positive = good().all(|((number, &x), _)| x > 0.0 && level(number) > 0.0);
    // Run times of 0 and less, which clocks that disagree make, have differences only, and then one level.
    let count = good().count();
    let mut above_level = Vec::with_capacity(count);
    above_level.extend(good().map(|((number, x), _)| if is_positive { x / level(number) } else { *x }));
    let from = slow_from(&above_level)?;
    let of_slow = |is_slow: bool| above_level.iter().zip(good()).filter(move |(value, _)| (**value > from) == is_slow);
    let medians = |is_slow: bool| {
        let median_of = |values: Vec<f64>| median_of(&values).unwrap_or(f64::NAN);
        let relative = median_of(of_slow(is_slow).map(|(value, _)| *value).collect());
        (relative, median_of(of_slow(is_slow).map(|(_, ((_, &x), _))| x).collect()))
    };
    let [(slow, slow_median_ns), (usual, level_median_ns)] = [true, false].map(medians);
    let ratio = if is_positive { slow / usual } else { 1.0 + (slow - usual) / usual.abs() };
    Some(NotOneLevel { slow: of_slow(true).count(), good: count, ratio, slow_median_ns, level_median_ns })
}

/// The value above which these are slow, in their unit; `None` where they are one level, or too few (fewer than 8).
///
/// ```
/// use mpitrace_statistics::categories::slow_from;
///
/// // One of ten takes five times as long: the median of all does not describe it.
/// let values: Vec<f64> = (0..1000).map(|i| if i % 10 == 3 { 1e4 } else { 2000.0 + f64::from(i % 7) }).collect();
/// let limit = slow_from(&values).expect("two levels");
/// assert!((2006.0..1e4).contains(&limit), "{limit} ns");
/// assert_eq!(slow_from(&[2000.0; 1000]), None);
/// ```
pub fn slow_from(values: &[f64]) -> Option<f64> {
    let count = values.len();
    let slow = ((SLOW * count as f64) as usize).max(FEWEST);
    if count < 2 * slow {
        return None;
    }
    let places = [slow - 1, count / 2, count - slow];
    let [low, middle, high] = places.map(|place| order_statistics(values, [place])[0]);
    // Of values of 0 and less the differences.
    let (below, above, ratio) = if values.iter().all(|&value| value > 0.0) {
        ((middle / low).ln(), (high / middle).ln(), high / middle)
    } else {
        (middle - low, high - middle, 1.0 + (high - middle) / middle.abs())
    };
    let step = step(values.to_vec(), high);
    let far_from = || (middle + BEYOND * (middle - low)).max(middle + 1.01 * step).min(0.5 * (middle + high));
    let is_far = ratio >= RATIO && ratio.is_finite() && above >= SKEW * below && high - middle > STEPS * step;
    // Where all below are equal, the level is no wider than the step of the clock.
    let rare = is_far.then(far_from);
    // Where most are slow, the middle is one of them.
    rare.or_else(|| two_modes::slow_from(values).filter(|_| high - low > STEPS * step))
}

/// The least distance of values up to `high` that differ: the clock's step where it is coarse.
fn step(mut values: Vec<f64>, high: f64) -> f64 {
    values.retain(|&value| value <= high);
    values.sort_unstable_by(f64::total_cmp);
    let gaps = values.windows(2).map(|pair| pair[1] - pair[0]);
    // Multiples of a step, computed in floating point, differ in their last digits.
    gaps.filter(|gap| *gap > 1e-9 * high.abs()).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::super::{Rule, RuleFindings};
    use super::*;
    use mpitrace_testing::Random;

    fn found(run_time_ns: &[f64]) -> (RuleFindings, Option<NotOneLevel>) {
        let numbers: Vec<u64> = (0..run_time_ns.len() as u64).collect();
        let found = Rule::default().apply(&numbers, run_time_ns).unwrap();
        let not_one_level = found.remarks(&numbers, run_time_ns).not_one_level;
        (found, not_one_level)
    }

    /// Noise of 4 %, and of every so many repetitions one that takes 3 to 10 000 times as long.
    fn scattered(every: usize, count: usize) -> Vec<f64> {
        let mut random = Random::new(3);
        let mut one = |index: usize| {
            let x = 30_000.0 * (0.04 * random.normal()).exp();
            if index % every == every - 1 { x * (3.0_f64).powf(1.0 + 7.4 * random.uniform()) } else { x }
        };
        (0..count).map(&mut one).collect()
    }

    /// So many values of each of three levels.
    fn three([low, middle, high]: [(usize, f64); 3]) -> Vec<f64> {
        [low, middle, high].into_iter().flat_map(|(count, value)| std::iter::repeat_n(value, count)).collect()
    }

    #[test]
    fn values_within_two_steps_of_the_clock_above_the_level_may_be_on_it() {
        let with = |highest| slow_from(&three([(900, 10.0), (10, 30.0), (90, highest)]));
        assert_eq!(with(50.0), None);
        assert!(with(51.0).is_some_and(|limit| (30.0..51.0).contains(&limit)));
    }

    #[test]
    fn the_step_of_the_clock_is_no_difference_of_last_digits() {
        let step = step(vec![400.0, 300.0 + 1e-8, 300.0, 500.0], 400.0);
        assert!((step - 100.0).abs() < 1e-6, "{step}");
    }

    #[test]
    fn times_are_compared_on_logarithms_and_what_may_be_negative_by_differences() {
        // 10 times the level, which is twice the fastest: less than 8 times as far above on logarithms.
        let values = three([(10, 10.0), (80, 20.0), (10, 200.0)]);
        assert_eq!(slow_from(&values), None);
        let shifted: Vec<f64> = values.iter().map(|value| value - 10.0).collect();
        assert!(slow_from(&shifted).is_some());
    }

    #[test]
    fn many_scattered_slow_repetitions_are_not_one_level() {
        for (every, count) in [(5, 400), (4, 1000), (3, 200)] {
            let (found, not_one_level) = found(&scattered(every, count));
            let good = found.categories.count(Category::Good);
            let not_one_level = not_one_level.unwrap();
            // A few of the slow ones are outliers.
            let slow = good + count.div_ceil(every) - count;
            assert_eq!(not_one_level.good, good, "{every}");
            assert!(not_one_level.slow.abs_diff(slow) <= count / 50, "{every}: {not_one_level:?} {slow}");
            let NotOneLevel { ratio, slow_median_ns, level_median_ns, .. } = not_one_level;
            assert!((29_000.0..31_000.0).contains(&level_median_ns), "{every}: {not_one_level:?}");
            assert!(ratio > 50.0 && (ratio * level_median_ns / slow_median_ns - 1.0).abs() < 0.01, "{every}");
        }
        // So few are outliers.
        let (found, none) = found(&scattered(20, 400));
        assert!(none.is_none() && found.categories.count(Category::Outlier) >= 20, "{none:?}");
    }

    #[test]
    fn repetitions_most_of_which_are_slow_are_not_one_level() {
        for (slow_of_ten, ratio) in [(3, 2.0), (5, 2.0), (6, 100.0), (7, 1.6)] {
            let mut random = Random::new(5);
            let mut one = |i: usize| {
                let is_slow = (7 * i) % 10 < slow_of_ten;
                30_000.0 * (0.03 * random.normal()).exp() * if is_slow { ratio } else { 1.0 }
            };
            let (_, said) = found(&(0..1000).map(&mut one).collect::<Vec<f64>>());
            let said = said.unwrap_or_else(|| panic!("{slow_of_ten} of 10, x{ratio}"));
            assert!(said.slow.abs_diff(100 * slow_of_ten) <= 2 && (said.ratio / ratio - 1.0).abs() < 0.02, "{said:?}");
        }
    }

    #[test]
    fn levels_that_the_rule_found_and_ticks_of_the_clock_are_none() {
        let mut random = Random::new(4);
        let mut noise = || (0.02 * random.normal()).exp();
        let shifted: Vec<f64> = (0..1000).map(|i| if i < 700 { 2000.0 } else { 9000.0 } * noise()).collect();
        let (of_shifted, none) = found(&shifted);
        assert_eq!((of_shifted.levels.unwrap().change_points, none), (vec![700], None));
        let ticking: Vec<f64> = (0..1000).map(|i| if i % 8 == 0 { 20.0 } else { 10.0 }).collect();
        assert_eq!(found(&ticking).1, None);
        assert_eq!(found(&[5.0; 100]).1, None);
        assert_eq!(found(&[1.0, 1.0, 1.0, 1.0, 50.0]).1, None);
        assert_eq!(found(&[]).1, None);
    }

    #[test]
    fn slow_ones_on_a_level_of_its_own_are_held_against_it() {
        let mut x = scattered(4, 2000);
        x[..1000].iter_mut().for_each(|x| *x *= 0.1);
        let numbers: Vec<u64> = (0..2000).collect();
        let levels = Levels {
            class: super::super::Class::Slowdown,
            change_points: vec![1000],
            level_ns: vec![3_000.0, 30_000.0],
        };
        let of = |x: &[f64]| not_one_level(&numbers, x, &[Category::Good; 2000], Some(&levels));
        assert!(of(&x).unwrap().ratio > 100.0);
        let quiet: Vec<f64> = (0..2000).map(|i| if i < 1000 { 3_000.0 } else { 30_000.0 } + f64::from(i % 7)).collect();
        assert_eq!(of(&quiet), None);
    }

    #[test]
    fn run_times_of_zero_and_less_are_compared_by_their_differences() {
        let numbers: Vec<u64> = (0..400).collect();
        let mut x: Vec<f64> = (0..400).map(|i| 100.0 + f64::from(i % 11)).collect();
        x[3] = -1.0;
        let of = |x: &[f64]| not_one_level(&numbers, x, &[Category::Good; 400], None);
        assert_eq!(of(&x), None);
        x.iter_mut().step_by(4).for_each(|x| *x = 90_000.0);
        assert!(of(&x).unwrap().ratio > 800.0);
    }
}
