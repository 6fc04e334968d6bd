//! Intervals of the mean and of quantiles that hold for values which depend on each other.
//!
//! The interval of a quantile is Woodruff's (1952): the share of the values below it has an interval, whose ends are
//! turned into quantiles of the sample. The interval of the share is that of Korn and Graubard (1998) for observations
//! that are not independent: the binomial one of Clopper and Pearson, for the number of independent values that have as
//! large a variance, and fewer by as much as Student's quantile is above the normal one. For independent values it is
//! that between order statistics ([`super::interval_ranks`]).

use std::cell::OnceCell;

use super::long_memory::{LIKELY, Memory, memory};
use super::long_run::{LongRun, block_means, long_run, shares_below};
use super::order::{Interval, quantile};
use super::student::{ends_of_mean, student_quantile};
use super::{Dependence, dependence, dependence_of_quantile, median_of, moments};
use crate::estimators::distributions::beta_regularised;
use crate::parallel;

/// A series of which intervals are made.
///
/// ```
/// use mpitrace_statistics::{Intervals, Sample, dependence, dependence_of_quantile};
///
/// let values: Vec<f64> = (0..500).map(|i| 2000.0 + f64::from(i * 7919 % 101)).collect();
/// let sample = Sample::new(&values);
/// let intervals = Intervals::new(&values, sample.sorted(), 0.95);
/// let mean = intervals.mean().expect("500 values");
/// assert!(mean.lower < 2050.0 && 2050.0 < mean.upper);
/// let median = intervals.quantile(0.5).expect("500 values");
/// assert!(median.lower < 2050.0 && 2050.0 < median.upper);
/// assert_eq!(intervals.quantiles([0.5]), [Some(median)]);
/// let known = [dependence(&values), dependence_of_quantile(&values, 2050.0)];
/// assert_eq!(Intervals::knowing(&values, sample.sorted(), 0.95, known).mean(), Some(mean));
/// ```
#[derive(Debug)]
pub struct Intervals<'v> {
    values: &'v [f64],
    sorted: &'v [f64],
    confidence: f64,
    /// The effective sample size, for the mean or for the median, whichever is smaller.
    effective: f64,
    /// How long the correlation lasts, for the one or the other, as a share of the series.
    share: f64,
    /// The dependence of the distances from the median, found where a quantile beyond the quartiles is asked for.
    of_spread: OnceCell<Option<Dependence>>,
    /// How likely it is that the level has long memory, and its mean, found where a quantile is asked for.
    of_level: OnceCell<(f64, Option<LongRun>)>,
}

/// A series with a smaller effective sample size has no interval: too little is known of its dependence.
const FEWEST: f64 = 4.0;
/// A quantile beyond which less than so many independent values lie has none either, ...
const FEWEST_BEYOND: f64 = 3.0;
/// ... nor one beyond the quartiles with less than so many: values may be further from the median for some time, now
/// above it and now below, and fewer do not show it.
const FEWEST_FAR: f64 = 30.0;
/// For the same reason the correlation of a series "beyond this quantile" is taken for no shorter than this share of
/// the series: ten cosines.
const FAR_SHARE: f64 = 1.0 / 80.0;
/// A share beyond the quartiles is taken as no better known than by so many times the number of independent distances
/// from the median. Where the spread lasts, a series that has seen little of it shows little dependence beyond a
/// quantile. Only to state none where few are independent would choose the calm series, whose intervals miss most.
const SPREADS: f64 = 5.0 / 3.0;
/// Each distance is taken as no more than so many times the median one.
const LONGEST_DISTANCE: f64 = 3.0;
/// A mean has no interval where a single value holds this share of the sum of squares about the median, and this many
/// equal parts of it more: of a distribution without variance it holds a constant share, however many values there are.
const LARGEST: f64 = 0.25;
const LARGEST_PARTS: f64 = 8.0;
/// Nor where the largest 20, 40, 80 ... values, up to a tenth of all, fall off with an exponent below 2 (Hill 1975),
/// each time: of such a distribution there is no variance. Twice at least: 4 % of outliers are the largest 20 of 400
/// too.
const TAIL_EXPONENT: f64 = 2.0;
const TAIL_LEAST: usize = 20;
const TAIL_SHARE: usize = 10;
/// A level that has long memory with a larger probability moves the quantiles with it: of 200 repetitions little more
/// than this is ever known.
const POSSIBLE: f64 = 0.05;
/// Of normal values those between the quantiles at 5 and 95 %: by this share of a shift the mean moves if what lies
/// beyond these is taken for them.
const WITHIN: f64 = 0.9;
/// Where fewer lie beyond it, their variance is hardly known from themselves.
const MANY_BEYOND: f64 = 20.0;

impl<'v> Intervals<'v> {
    /// Intervals of finite values in the order in which they were measured; `sorted` holds them ascending.
    /// `confidence` is 0.95 for intervals that hold the true value in 95 of 100 series.
    pub fn new(values: &'v [f64], sorted: &'v [f64], confidence: f64) -> Self {
        let of_median = quantile(sorted, 0.5).and_then(|median| dependence_of_quantile(values, median));
        Intervals::knowing(values, sorted, confidence, [dependence(values), of_median])
    }

    /// [`Intervals::new`] where the dependence of the values is known already: for the mean, and for the median.
    pub fn knowing(values: &'v [f64], sorted: &'v [f64], confidence: f64, dependence: [Option<Dependence>; 2]) -> Self {
        let known = || dependence.iter().flatten();
        let n = values.len() as f64;
        let effective = known().map(|found| found.effective).fold(n, f64::min);
        let share = known().map(|found| found.time).fold(1.0, f64::max) / n;
        Intervals {
            values,
            sorted,
            confidence,
            effective,
            share,
            of_spread: OnceCell::new(),
            of_level: OnceCell::new(),
        }
    }

    /// The interval of the mean: Student's, with the variance of a mean of dependent values; of values none of which is
    /// below 0, none that reaches below 0 ([`ends_of_mean`]). `None` for fewer than four
    /// values, independent ones, where a single value has most of the variance, and where the tail has none.
    pub fn mean(&self) -> Option<Interval> {
        if self.largest_share()? > LARGEST + LARGEST_PARTS / self.values.len() as f64 || self.has_heavy_tail() {
            return None;
        }
        let mean = moments(self.sorted)?.mean;
        let blocks = block_means(self.values, |value| value);
        let found = long_run(&blocks, self.share)?;
        let found = self.memory(&blocks).map_or(found, |memory| memory.with(found));
        let half = self.student(found.freedom)? * found.variance_of_mean.sqrt();
        let [lower, upper] = ends_of_mean(mean, half, *self.sorted.first()?);
        (self.effective >= FEWEST).then(|| self.interval(lower, upper))
    }

    /// The interval of the quantile at `p`, 0 to 1. `None` where too few independent values lie beyond it: 3 of the
    /// effective sample size of the whole series, beyond the quartiles 30. Where the level may have long memory,
    /// there is none beyond the quartiles, and that of others is at least as wide as the level's.
    pub fn quantile(&self, p: f64) -> Option<Interval> {
        let value = quantile(self.sorted, p)?;
        let below = || block_means(self.values, |other| f64::from(u8::from(other <= value)));
        self.with_the_level(p, if self.has_interval(p) { self.woodruff(p, &below()) } else { None })
    }

    /// The intervals of several quantiles, the values read once.
    pub fn quantiles<const N: usize>(&self, p: [f64; N]) -> [Option<Interval>; N] {
        let value = p.map(|p| quantile(self.sorted, p).unwrap_or(f64::NAN));
        let below = shares_below(self.values, value);
        std::array::from_fn(|index| {
            let p = p[index];
            self.with_the_level(p, if self.has_interval(p) { self.woodruff(p, &below[index]) } else { None })
        })
    }

    /// The interval of a quantile where the level may have long memory: all quantiles move with the level, and the
    /// values are too few to know how many of them are independent. Only to state none where few are would choose the
    /// calm series, whose intervals miss most.
    fn with_the_level(&self, p: f64, found: Option<Interval>) -> Option<Interval> {
        let (probability, level) = self.level();
        let Some(level) = level.filter(|_| probability > POSSIBLE && self.effective >= FEWEST && !is_far(p)) else {
            return found;
        };
        let value = quantile(self.sorted, p)?;
        let half = self.student(level.freedom)? * level.variance_of_mean.sqrt() / WITHIN;
        let [lower, upper] = ends_of_mean(value, half, *self.sorted.first()?);
        // Where some values are far from most, the level's interval is wider than all of them.
        let (least, largest) = (*self.sorted.first()?, *self.sorted.last()?);
        Some(self.interval(
            found.map_or(lower, |found| found.lower.min(lower)).max(least),
            found.map_or(upper, |found| found.upper.max(upper)).min(largest),
        ))
    }

    /// The share of the sum of squares about the median that the furthest value has.
    fn largest_share(&self) -> Option<f64> {
        let median = quantile(self.sorted, 0.5)?;
        let squares: f64 = self.sorted.iter().map(|value| (value - median).powi(2)).sum();
        let ends = [self.sorted.first()?, self.sorted.last()?];
        let largest = ends.into_iter().map(|end| (end - median).powi(2)).fold(0.0, f64::max);
        Some(if squares > 0.0 { largest / squares } else { 0.0 })
    }

    /// True if the largest values fall off as those of a distribution without variance.
    fn has_heavy_tail(&self) -> bool {
        let n = self.sorted.len();
        let is_heavy = |count: usize| {
            let [before, largest @ ..] = &self.sorted[n - count - 1..] else { return false };
            let logarithms: f64 = largest.iter().map(|value| (value / before).ln()).sum();
            *before > 0.0 && logarithms * TAIL_EXPONENT > count as f64
        };
        let counts = std::iter::successors(Some(TAIL_LEAST), |count| Some(2 * count));
        n >= 2 * TAIL_LEAST * TAIL_SHARE && counts.take_while(|&count| count <= n / TAIL_SHARE).all(is_heavy)
    }

    /// True if enough independent values lie on either side: of a level that lasts for longer than any finite time too
    /// little was seen beyond the quartiles.
    fn has_interval(&self, p: f64) -> bool {
        let beyond = p.min(1.0 - p);
        let is_enough = self.effective * beyond >= if is_far(p) { FEWEST_FAR } else { FEWEST_BEYOND };
        self.effective >= FEWEST && is_enough && (!is_far(p) || self.long_memory() <= LIKELY)
    }

    /// The dependence of the distances from the median.
    fn of_spread(&self) -> Option<Dependence> {
        *self.of_spread.get_or_init(|| {
            let median = quantile(self.sorted, 0.5)?;
            let distances = parallel::filled(self.values.len(), |index| (self.values[index] - median).abs());
            let longest = LONGEST_DISTANCE * median_of(&distances)?;
            dependence(&parallel::filled(distances.len(), |index| distances[index].min(longest)))
        })
    }

    /// The memory of a series of block means, if its values depend on each other.
    fn memory(&self, blocks: &[f64]) -> Option<Memory> {
        let is_dependent = self.effective < self.values.len() as f64;
        if is_dependent { memory(blocks) } else { None }
    }

    /// How likely it is that the level has long memory.
    fn long_memory(&self) -> f64 {
        self.level().0
    }

    /// That, and the mean of the level. Values beyond the quantiles at 5 and 95 % are taken for these.
    fn level(&self) -> (f64, Option<LongRun>) {
        *self.of_level.get_or_init(|| {
            let [Some(low), Some(high)] = [0.05, 0.95].map(|p| quantile(self.sorted, p)) else { return (0.0, None) };
            let blocks = block_means(self.values, |value| value.clamp(low, high));
            let Some(memory) = self.memory(&blocks) else { return (0.0, None) };
            (memory.probability, long_run(&blocks, self.share).map(|found| memory.with(found)))
        })
    }

    /// The interval of the quantile at `p`; `below`: the share of the values that are not above it, in blocks.
    fn woodruff(&self, p: f64, below: &[f64]) -> Option<Interval> {
        let beyond = self.effective * p.min(1.0 - p);
        let n = self.values.len() as f64;
        let share = below.iter().sum::<f64>() / below.len() as f64;
        let spread = if is_far(p) { self.of_spread() } else { None };
        let share_of_spread = spread.map_or(0.0, |found| (found.time / n).max(FAR_SHARE));
        let found = long_run(below, self.share.max(share_of_spread))?;
        // Above and below is what is left of a short memory, and looks longer: the values themselves tell which it is.
        let memory = if is_far(p) { None } else { self.memory(below) };
        let found = memory.map_or(found, |memory| memory.if_likely(self.long_memory()).with(found));
        let of_independent = share * (1.0 - share) / n;
        let ratio = if of_independent > 0.0 { found.variance_of_mean / of_independent } else { 1.0 };
        // Few values far out may be closer together, or further apart, than others would be.
        let least = if beyond < MANY_BEYOND { (n / self.effective).sqrt() } else { 0.5 };
        let least = spread.map_or(least, |found| least.max(n / (SPREADS * found.effective)));
        let narrower = self.student(f64::INFINITY)? / self.student(found.freedom)?;
        let [lower, upper] = places(n / ratio.max(least) * narrower.powi(2), p, 1.0 - self.confidence)?;
        let at = |place: f64| quantile(self.sorted, (place * n - 0.5) / (n - 1.0));
        Some(self.interval(at(lower)?, at(upper)?))
    }

    fn interval(&self, lower: f64, upper: f64) -> Interval {
        Interval { lower, upper, coverage: self.confidence }
    }

    /// Student's quantile; the normal one for infinitely many degrees of freedom. `None` for less than one degree, with
    /// which it grows beyond all bounds: nothing is known of the variance.
    fn student(&self, freedom: f64) -> Option<f64> {
        if freedom < 1.0 {
            return None;
        }
        student_quantile(freedom.min(1e9), f64::midpoint(1.0, self.confidence))
    }
}

/// Beyond the quartiles.
fn is_far(p: f64) -> bool {
    (p - 0.5).abs() > 0.25
}

/// Between which shares of the values the quantile at `p` of `n` independent ones lies, n being any number from 1 on;
/// `outside` is the probability that it does not. Half a value beyond the ranks, where the distribution function of a
/// sample has its middle.
pub(super) fn places(n: f64, p: f64, outside: f64) -> Option<[f64; 2]> {
    let tail = outside / 2.0;
    // P(B <= k - 1) of a binomial B, rising with k, ...
    let below = |k: f64| beta_regularised(n - k + 1.0, k, 1.0 - p);
    // ... and P(B >= k), falling with k.
    let above = |k: f64| beta_regularised(k, n - k + 1.0, p);
    if n < 1.0 || below(1.0) > tail || above(n) > tail {
        return None;
    }
    let last = |holds: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (1.0, n);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if holds(middle) { low = middle } else { high = middle }
        }
        low
    };
    let lower = last(&|k| below(k) <= tail);
    let upper = last(&|k| above(k) > tail);
    Some([(lower - 0.5) / n, (upper - 0.5) / n])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::interval_ranks;
    use mpitrace_testing::Random;

    /// Slow stretches of some ten values each make the level's interval reach from 10^-84 to 10^89 in some of these
    /// series.
    #[test]
    fn no_interval_of_a_quantile_is_wider_than_the_values() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let mut is_slow = false;
            let mut value = || {
                is_slow = if is_slow { random.uniform() > 0.1 } else { random.uniform() < 0.01 };
                if is_slow { 1e6 * random.uniform() } else { 1000.0 + 100.0 * random.uniform() }
            };
            let values: Vec<f64> = (0..600).map(|_| value()).collect();
            let sorted = sorted(&values);
            let Some(found) = Intervals::new(&values, &sorted, 0.95).quantile(0.5) else { continue };
            assert!(sorted[0] <= found.lower && found.upper <= sorted[599], "{seed}: {found:?}");
        }
    }

    #[test]
    fn of_a_variance_that_is_not_known_there_is_no_interval() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let intervals = Intervals::new(&values, &values, 0.95);
        assert_eq!([0.004, 0.9].map(|freedom| intervals.student(freedom)), [None; 2]);
        assert!((intervals.student(1.0).expect("one") - 12.706).abs() < 0.001);
    }

    fn sorted(values: &[f64]) -> Vec<f64> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    }

    fn autoregressive(n: usize, phi: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let mut x = random.normal() / (1.0 - phi * phi).sqrt();
        (0..n)
            .map(|_| {
                x = phi * x + random.normal();
                x
            })
            .collect()
    }

    #[test]
    fn intervals_hold_what_they_are_of_in_95_of_100_series() {
        for (phi, n) in [(0.0, 100), (0.5, 400), (0.9, 2000)] {
            let (mut median, mut mean, mut p95, mut made) = (0, 0, 0, 0);
            // Of the standard normal distribution, times its deviation.
            let upper = 1.644_853_626_951 / (1.0_f64 - phi * phi).sqrt();
            for seed in 0..300 {
                let values = autoregressive(n, phi, seed);
                let sample = sorted(&values);
                let intervals = Intervals::new(&values, &sample, 0.95);
                let holds = |found: Option<Interval>, truth: f64| {
                    usize::from(found.is_some_and(|found| found.lower <= truth && truth <= found.upper))
                };
                median += holds(intervals.quantile(0.5), 0.0);
                mean += holds(intervals.mean(), 0.0);
                p95 += holds(intervals.quantile(0.95), upper);
                made += usize::from(intervals.quantile(0.95).is_some());
            }
            // 1.3 % is a standard deviation of such a share.
            for held in [median, mean] {
                assert!((273..=297).contains(&held), "phi {phi}: {median} {mean} of 300");
            }
            assert!(p95 * 100 >= made * 90, "phi {phi}: {p95} of {made}");
        }
    }

    #[test]
    fn several_quantiles_at_once_have_the_intervals_that_each_has() {
        for n in [3, 100, 5000, 200_000] {
            let values = autoregressive(n, 0.7, 3);
            let sample = sorted(&values);
            let intervals = Intervals::new(&values, &sample, 0.95);
            let all = [0.01, 0.25, 0.5, 0.99];
            assert_eq!(intervals.quantiles(all), all.map(|p| intervals.quantile(p)), "{n}");
        }
    }

    #[test]
    fn of_independent_values_it_lies_between_the_order_statistics() {
        for (n, p) in [(40, 0.5), (1000, 0.5), (1000, 0.95), (5000, 0.99)] {
            let (lower, upper, _) = interval_ranks(n, p, 0.95).unwrap();
            let found = places(n as f64, p, 0.05).unwrap();
            // Within the next rank, which is where the probability is exact.
            let ranks = found.map(|place| place * n as f64 + 0.5);
            assert!((0.0..=1.0).contains(&(ranks[0] - lower as f64)), "{ranks:?} {lower}");
            assert!((0.0..=1.0).contains(&(upper as f64 - ranks[1])), "{ranks:?} {upper}");
        }
    }

    #[test]
    fn a_few_huge_values_put_no_mean_below_0() {
        let mut values = vec![100.0; 60];
        (values[7], values[31]) = (40_000.0, 90_000.0);
        assert_eq!(Intervals::new(&values, &sorted(&values), 0.95).mean(), None, "one value has most of the variance");
        (values[19], values[43], values[51]) = (50_000.0, 70_000.0, 80_000.0);
        let found = Intervals::new(&values, &sorted(&values), 0.95).mean().unwrap();
        let mean = moments(&values).unwrap().mean;
        assert!(0.0 < found.lower && found.lower < mean && mean < found.upper, "{found:?}");
    }

    /// Values whose variance changes for some time, but which do not depend on each other otherwise (GARCH .1, .88).
    #[test]
    fn intervals_of_far_quantiles_hold_where_the_spread_lasts_or_are_not_stated() {
        let series = |n: usize, seed: u64| -> Vec<f64> {
            let mut random = Random::new(seed);
            let (mut variance, mut value) = (1.0, 0.0);
            let mut next = || {
                variance = 0.02 + 0.1 * value * value + 0.88 * variance;
                value = f64::sqrt(variance) * random.normal();
                value
            };
            (0..500 + n).map(|_| next()).skip(500).collect()
        };
        let upper = crate::estimators::quantile(&sorted(&series(2_000_000, 1)), 0.95).unwrap();
        // The spread lasts for 50: 1000 are 20 times as many.
        for (n, fewest_made, least_held) in [(150, 0, 0.0), (500, 0, 0.0), (1000, 150, 0.91), (4000, 380, 0.94)] {
            let (mut made, mut held) = ([0; 2], [0; 2]);
            for seed in 0..400 {
                let values = series(n, 100 + seed);
                let sample = sorted(&values);
                let intervals = Intervals::new(&values, &sample, 0.95);
                let far = [(intervals.quantile(0.95), upper), (intervals.quantile(0.05), -upper)];
                for (i, (found, truth)) in far.into_iter().enumerate() {
                    made[i] += usize::from(found.is_some());
                    held[i] += usize::from(found.is_some_and(|found| found.lower <= truth && truth <= found.upper));
                }
            }
            for (made, held) in made.into_iter().zip(held) {
                // Of those that are stated, within two standard deviations of a share of 95 %.
                let room = 2.0 * (0.05 * 0.95 * made as f64).sqrt();
                assert!(held as f64 >= least_held * made as f64 - room, "{n}: {held} of {made}");
                assert!(made >= fewest_made && (n >= 600 || made == 0), "{n}: {made}");
            }
        }
    }

    #[test]
    fn a_mean_of_values_without_variance_has_no_interval_and_rare_outliers_have_one() {
        let mut random = Random::new(12);
        let mut made = |make: &mut dyn FnMut(&mut Random) -> f64| {
            let mut is_made = |_: &u64| {
                let values: Vec<f64> = (0..1000).map(|_| make(&mut random)).collect();
                Intervals::new(&values, &sorted(&values), 0.95).mean().is_some()
            };
            (0..100).filter(|seed| is_made(seed)).count()
        };
        let without_variance = made(&mut |random| 1.0 + 0.1 * (random.uniform().powf(-1.0 / 1.2) - 1.0));
        assert!(without_variance <= 10, "{without_variance}");
        let outliers = made(&mut |random| {
            (0.05 * random.normal()).exp() * if random.uniform() < 0.03 { 3.0 + 5.0 * random.uniform() } else { 1.0 }
        });
        assert!(outliers >= 93, "{outliers}");
        assert_eq!(made(&mut |random| 1.0 + random.gamma(1.0)), 100);
    }

    #[test]
    fn too_little_has_no_interval() {
        let of = |values: &[f64]| {
            let sample = sorted(values);
            let intervals = Intervals::new(values, &sample, 0.95);
            (intervals.mean(), intervals.quantile(0.5), intervals.quantile(0.99))
        };
        assert_eq!(of(&[]), (None, None, None));
        assert_eq!(of(&[1.0, 2.0, 3.0]), (None, None, None));
        let trend: Vec<f64> = (0..1000).map(f64::from).collect();
        assert_eq!(of(&trend).2, None);
        let equal = of(&[7.0; 100]);
        assert_eq!(equal.1.map(|found| (found.lower, found.upper)), Some((7.0, 7.0)));
    }
}
