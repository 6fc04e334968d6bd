//! The test of a slow beginning: a warm-up is something that only the beginning does.

use super::falling::{Level, falling};
use super::jump::sums;
use super::jump::{HIGHEST, of_mean};
use super::spread::Spread;
use super::{trellis, window};
use crate::estimators::median;

/// Run times count as no farther from the level than so many standard deviations: outliers are no levels.
const FARTHEST: f64 = 6.0;
/// Levels so many standard deviations above what follows may be slow: outliers on them are kept.
const SLOW: f64 = 1.0;
/// A level that is so many standard deviations slow on average is mixed if an eighth of it
const MIXED: f64 = 1.5;
/// is no more above what follows.
const QUICK: f64 = 0.7;
/// Slow and quick ones change places by this share of what they do at random.
const RANDOM: f64 = 0.6;
/// in so many or more, of which one in so many is quicker than what follows.
const ALTERNATES: usize = 12;
const QUICKER: usize = 32;
/// The first quarter of a beginning has this share of its excess.
const FIRST_QUARTER: f64 = 0.4;
/// The excess is so many standard deviations of a mean, outliers and all.
const OUTLIERS: f64 = 3.7;
/// The mean is that of so many values behind the beginning, or more.
const BESIDE: usize = 30;
/// A beginning that is shorter than this
const SCATTERS: usize = 25;
/// and of which more than this share scatters more than noise is a burst.
const SCATTERED: f64 = 0.45;
/// As is one that single slow repetitions make by this chance.
const BY_CHANCE: f64 = 0.0007;
/// Later stretches as long are like the beginning from this share of its excess on.
const ALIKE: f64 = 0.7;
/// No more of them than this share may be.
const REPEATED: f64 = 0.003;
/// A rise of the level by this share of the fall,
const RISE: f64 = 0.25;
/// and by so many standard deviations of a mean, and more the more means there are,
const RISES: f64 = 4.5;
const BY_WINDOW: f64 = 0.85;
/// for so many repetitions and so many blocks of them, is no burst.
const LASTS: usize = 50;
const FEWEST: usize = 10;
/// Lasting noise rises as far as it does elsewhere, where the fall is so many times as high.
const CLEAR: f64 = 1.25;
/// Repetitions so near to each other are mostly of one level.
const NEAR: usize = 16;
/// A level that rises once, by no more than this share of the fall, and stays is a slowdown,
pub(super) const SLOWDOWN: f64 = 0.7;
/// if the series is so long,
const SHORT: usize = 500;
/// and if it stays above this share of a rise.
const STAYS: f64 = 0.7;

/// Behind a beginning of several levels no change is larger than this share of the fall to what follows,
const STEADY: f64 = 0.1;
/// which is quicker than each of them by this share of the fall,
const SLOWER: f64 = 0.15;
/// and lasts for so many times as long as they do.
const LONGER: f64 = 2.5;

/// Values in standard deviations from their level.
pub(super) struct Scores {
    scores: Vec<f64>,
    /// The scores before they are limited.
    distances: Vec<f64>,
    /// The range of scores outside of which values are outliers.
    usual: [f64; 2],
}

/// How far the values are from their level from `end` on, in standard deviations.
pub(super) fn scores(values: &[f64], end: usize, tick: f64, least: f64) -> Scores {
    let level = middle(&values[end..]);
    let mut residuals: Vec<f64> = values[end..].iter().map(|value| value - level).collect();
    let spread = Spread::new(&mut residuals, least, tick);
    let score = |value: &f64| {
        let distance = value - level;
        distance / if distance > 0.0 { spread.above } else { spread.below }
    };
    let usual = [spread.low / spread.below, spread.high / spread.above];
    let distances: Vec<f64> = values.iter().map(score).collect();
    let scores = distances.iter().map(|distance| distance.clamp(-FARTHEST, FARTHEST)).collect();
    Scores { scores, distances, usual }
}

impl Scores {
    /// Without the outliers behind a slow beginning.
    pub(super) fn usual(&self) -> Vec<f64> {
        let slow = falling(&self.scores).iter().rfind(|level| level.mean() >= SLOW).map_or(0, |level| level.to);
        let of = |(i, &score): (usize, &f64)| {
            if i < slow || (self.usual[0] <= score && score <= self.usual[1]) { score } else { 0.0 }
        };
        self.scores.iter().enumerate().map(of).collect()
    }

    /// True if an eighth of a slow level is no slower than what follows, and together.
    pub(super) fn is_burst(&self, level: &Level) -> bool {
        level.mean() >= MIXED && self.is_mixed(level.from, level.to) && !self.alternates(level.from, level.to)
    }

    /// True if an eighth of them are quick.
    fn is_mixed(&self, from: usize, to: usize) -> bool {
        8 * self.scores[from..to].iter().filter(|&&score| score <= QUICK).count() >= to - from
    }

    /// True if slow and quick ones follow each other as by chance.
    pub(super) fn alternates(&self, from: usize, to: usize) -> bool {
        let part = &self.scores[from..to];
        let count = part.len() as f64;
        let mean = mean(part);
        let slow = part.iter().filter(|&&score| score > mean).count() as f64 / count;
        let switches = part.windows(2).filter(|pair| (pair[0] > mean) != (pair[1] > mean)).count() as f64;
        let quick = part.iter().filter(|&&score| score < self.usual[0]).count();
        self.is_mixed(from, to)
            && to - from >= ALTERNATES
            && quick * QUICKER <= to - from
            && mean >= MIXED
            && switches >= RANDOM * 2.0 * slow * (1.0 - slow) * count
    }

    /// True if no later stretch is like the beginning.
    pub(super) fn is_unique(&self, end: usize) -> bool {
        let scores = &self.scores;
        let sums = sums(scores);
        let mean = |from: usize, length: usize| (sums[from + length] - sums[from]) / length as f64;
        let level = (sums[scores.len()] - sums[end]) / (scores.len() - end) as f64;
        let excess = mean(0, end) - level;
        let quarter = (end / 4).max(3).min(end);
        if mean(0, quarter) - level < FIRST_QUARTER * excess {
            return false;
        }
        if !self.stands_out(end) {
            return false;
        }
        if end < SCATTERS && !self.alternates(0, end) && self.scattered(end) > SCATTERED * end as f64 {
            return false;
        }
        let slow = |part: &[f64]| part.iter().filter(|&&score| score - level >= ALIKE * excess).count();
        let share = (slow(&scores[end..]) as f64 + 0.5) / (scores.len() - end + 1) as f64;
        let length = end.min(scores.len() / 8).max(1);
        let places = end..(scores.len() + 1).saturating_sub(length).max(end);
        let repeated = places.clone().filter(|&from| mean(from, length) - level >= ALIKE * excess).count();
        repeated as f64 <= REPEATED * places.len() as f64 && share.powf(slow(&scores[..end]) as f64) < BY_CHANCE
    }

    /// True if the beginning is slower than outliers that are as many as later, or a wider scatter next to it, make it.
    pub(super) fn stands_out(&self, end: usize) -> bool {
        let scores = &self.scores;
        let level = mean(&scores[end..]);
        let squares = |part: &[f64]| part.iter().map(|score| (score - level).powi(2)).sum::<f64>() / part.len() as f64;
        let beside = (end + end.max(BESIDE)).min(scores.len());
        let variance = squares(&scores[end..]).max(squares(&scores[end..beside]));
        mean(&scores[..end]) - level >= OUTLIERS * (variance / end as f64).sqrt()
    }

    /// How many of the beginning are farther from the levels that fit best and fall than noise.
    fn scattered(&self, end: usize) -> f64 {
        let far = |level: &Level| {
            let farthest = self.usual[1].max(-self.usual[0]);
            let of_level = &self.distances[level.from..level.to];
            of_level.iter().filter(|&distance| (distance - level.mean()).abs() > farthest).count() as f64
        };
        falling(&self.distances[..end]).iter().map(far).sum()
    }
}

/// So many slow repetitions in a row make a burst more than the length of the beginning does.
const LIKE: f64 = 0.8;
/// Slow are repetitions from this share of the beginning's excess on; a burst is like the beginning
const LOWER: f64 = 0.6;
/// up to so many times of it.
const HIGHER: f64 = 2.0;
/// A beginning in the midst of a burst is no rarer than this many repetitions of it in all are.
const PHASES: usize = 8;
/// The chance that a series with such bursts begins with one must be below this.
const CHANCE: f64 = 0.01;

/// True if later values are like the beginning, up to `end`, so often that it may begin so by chance. `excess`: of a
/// repetition over its level. `fall`: of the level at `end`.
pub(super) fn is_burst(length: usize, end: usize, fall: f64, excess: impl Fn(usize) -> f64) -> bool {
    let mut alike = 0_usize;
    let (mut slow, mut count, mut sum, mut quick) = (0_usize, 0_usize, 0.0, 0_usize);
    for i in end..=length {
        if i < length && excess(i) >= LOWER * fall {
            slow += 1;
            count += 1;
            sum += excess(i);
            quick = 0;
            continue;
        }
        quick += 1;
        // One quick repetition does not end it.
        if (quick == 2 || i == length) && count > 0 {
            let height = sum / count as f64;
            let high = height <= HIGHER * fall;
            alike += usize::from(high && count as f64 >= LIKE * end as f64);
            (count, sum) = (0, 0.0);
        }
    }
    // Single ones, and bursts.
    let share = (slow as f64 + 0.5) / (length - end + 1) as f64;
    share.powf(end as f64) >= CHANCE / 2.0 || (alike * end.min(PHASES)) as f64 >= CHANCE * length as f64
}

/// True if the level of blocks of this width rises again, other than once and to stay. `fall`: by how much it fell at
/// `end`; `least`: the smallest standard deviation that can be known; `single`: it fell at once.
pub(super) fn comes_and_goes(values: &[f64], width: usize, end: usize, fall: f64, least: f64, single: bool) -> bool {
    let single = single && values.len() * width >= SHORT;
    let length = (LASTS / width).max(FEWEST).min(values.len() / 8).max(3);
    let [near, far] = [1, (NEAR / width).max(2)].map(|lag| trellis::deviation_up_to(values, least, lag));
    let phi = (1.0 - (near / far).powi(2)).clamp(0.0, HIGHEST);
    let noise = RISES + BY_WINDOW * (values.len() as f64 / length as f64).ln();
    let usual = noise * far * of_mean(phi, length as f64).sqrt();
    // Noise of a longer memory rises further; what comes and goes as far as the fall is no such noise.
    let lasting = noise * deviation_of_means(&values[end..], length);
    let least = (RISE * fall).max(if CLEAR * lasting <= fall { usual.max(lasting) } else { usual });
    // The median alone jumps where there are two modes, the mean where there are outliers.
    let of = |(from, middle): (usize, f64)| {
        let mean = mean(&values[from..from + length]);
        (from, mean.min(middle), mean.max(middle))
    };
    let levels: Vec<(usize, f64, f64)> = window::medians(values, length, (length / 16).max(1)).map(of).collect();
    let (mut before, mut lowest) = (0, f64::INFINITY);
    let mut rise = |&(from, level, _): &(usize, f64, f64)| {
        while levels[before].0 + length <= from {
            lowest = lowest.min(levels[before].2);
            before += 1;
        }
        level - lowest
    };
    let rises: Vec<f64> = levels.iter().map(&mut rise).collect();
    let Some(first) = rises.iter().position(|&rise| rise >= least) else { return false };
    if several_levels(&levels, [end, length, values.len()], usual, least) {
        return false;
    }
    let stays = rises[first..].iter().all(|&rise| rise >= STAYS * least);
    let highest = rises.iter().copied().fold(0.0, f64::max);
    let settled = &levels[levels.partition_point(|(from, ..)| *from < end)..];
    let falls = settled.iter().any(|(_, level, _)| settled[0].1 - level >= least);
    !(single && stays && levels[first].0 >= end && highest <= SLOWDOWN * fall && !falls)
}

/// True if these levels of windows, each with where it begins and its least and most, rise only before `end`, and what
/// follows is quicker than all of them, steady, and lasts for longer than the levels before. `usual`: a rise that noise
/// makes. `rise`: one that it does not.
fn several_levels(levels: &[(usize, f64, f64)], [end, length, count]: [usize; 3], usual: f64, rise: f64) -> bool {
    let before = &levels[..levels.partition_point(|(from, ..)| from + length <= end)];
    let behind = &levels[levels.partition_point(|(from, ..)| *from < end)..];
    let (Some(last), false) = (before.last(), behind.is_empty()) else { return false };
    let highest = behind.iter().map(|(_, least, _)| *least).fold(f64::NEG_INFINITY, f64::max);
    let lowest = behind.iter().map(|(.., most)| *most).fold(f64::INFINITY, f64::min);
    let fall = last.1 - lowest;
    let is_steady = highest - lowest <= (STEADY * fall).max(usual);
    let is_slower = before.iter().all(|(_, least, _)| *least - highest >= (SLOWER * fall).max(usual));
    // How often the level before the end turns from rising to falling or back.
    let (mut turns, mut least, mut most, mut rising) = (0, before[0].2, before[0].1, None);
    for &(_, low, high) in before {
        (least, most) = (least.min(high), most.max(low));
        match rising {
            Some(true) | None if most - high >= rise => (rising, least, turns) = (Some(false), high, turns + 1),
            Some(false) | None if low - least >= rise => (rising, most, turns) = (Some(true), low, turns + 1),
            _ => {}
        }
    }
    is_steady && is_slower && (count - end) as f64 >= LONGER * end as f64 / f64::from(turns + 1)
}

/// The standard deviation of the mean of so many values: from the upper quartile of the differences of two neighbouring
/// ones, which a level that changes now and then leaves alone. 0 for fewer than four of them.
fn deviation_of_means(values: &[f64], length: usize) -> f64 {
    let last = if values.len() < 4 * length { 0 } else { values.len() + 1 - 2 * length };
    let places = (0..last).step_by((length / 4).max(1));
    let of = |from: usize| mean(&values[from..from + length]);
    let differences: Vec<f64> = places.map(|from| (of(from) - of(from + length)).abs()).collect();
    trellis::of_differences(differences)
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn middle(values: &[f64]) -> f64 {
    median(&mut values.to_vec()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if the first so many of these values, which are noise but for what is added to them, are a warm-up.
    fn is_unique(end: usize, add: impl Fn(usize) -> f64) -> bool {
        let mut random = fastrand::Rng::with_seed(6);
        let noise = (0..1000).map(|_| (0..12).map(|_| random.f64()).sum::<f64>() - 6.0);
        let values: Vec<f64> = noise.enumerate().map(|(i, noise)| 0.05 * noise + add(i)).collect();
        scores(&values, end, 0.0, 1e-3).is_unique(end)
    }

    #[test]
    fn a_beginning_like_many_later_bursts_is_one_of_them() {
        assert!(is_unique(20, |i| if i < 20 { 1.0 } else { 0.0 }));
        // Shorter ones, and lower ones, are no reason.
        assert!(is_unique(20, |i| if i < 20 || i % 100 < 10 { 1.0 } else { 0.0 }));
        assert!(is_unique(20, |i| if i < 20 { 0.3 } else { 0.1 * f64::from(i % 200 < 20) }));
        assert!(!is_unique(20, |i| if i % 300 < 20 { 1.0 } else { 0.0 }));
    }

    #[test]
    fn one_slow_repetition_behind_a_long_beginning_is_no_burst() {
        assert!(!is_burst(21, 20, 1.0, |_| 1.0));
        assert!(is_burst(40, 20, 1.0, |_| 1.0));
    }

    #[test]
    fn two_slow_repetitions_are_no_news_where_one_in_ten_is_slow() {
        assert!(!is_unique(2, |i| if i < 2 || i % 10 == 5 { 1.0 } else { 0.0 }));
        assert!(is_unique(5, |i| if i < 5 || i % 10 == 5 { 1.0 } else { 0.0 }));
    }

    #[test]
    fn a_short_beginning_that_scatters_is_a_burst() {
        assert!(!is_unique(4, |i| [0.7, 1.9, 1.1, 2.3].get(i).copied().unwrap_or(0.0)));
        // One that falls does not scatter.
        assert!(is_unique(4, |i| [2.3, 1.9, 1.1, 0.7].get(i).copied().unwrap_or(0.0)));
    }

    #[test]
    fn levels_that_return_come_and_go_and_one_that_rises_and_stays_does_not() {
        let of = |parts: &[(usize, f64)]| {
            let values: Vec<f64> = parts.iter().flat_map(|&(count, level)| vec![level; count]).collect();
            comes_and_goes(&values, 1, parts[0].0, parts[0].1, 0.01, true)
        };
        assert!(!of(&[(100, 1.0), (900, 0.0)]));
        assert!(!of(&[(100, 1.0), (500, 0.0), (400, 0.5)]));
        assert!(of(&[(100, 1.0), (500, 0.0), (400, 1.0)]));
        assert!(of(&[(100, 1.0), (400, 0.0), (100, 0.5), (400, 0.0)]));
        // Shorter than 25 repetitions it is a burst.
        assert!(!of(&[(100, 1.0), (400, 0.0), (20, 0.5), (480, 0.0)]));
    }
}
