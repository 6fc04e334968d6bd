//! A beginning that is slower than all that follows, where both may have several levels.
//!
//! Run times that are recorded change their level again and again, in 1000 repetitions by 20 to 30 % or so, which is as
//! much as some warm-ups fall. The levels here are those of the division with the least cost, on the ranks of the
//! values, among which no outlier is far, where each change has a cost too (Killick, Fearnhead and Eckley, Optimal
//! detection of changepoints with a linear computational cost, 2012).
//!
//! The numbers were chosen on recorded run times with the warm-ups of the tuning half (benches/warmups.rs), and on its
//! series whose levels return.

use super::jump::sums;
use super::unique::middle;
use crate::estimators::{median_of, ranks};

/// A change of level costs so many variances of the ranks times ln n. With 3 fewer ends behind several levels are found
/// in recorded run times (80.4 %, not 81.5), with 6 more where levels return (1.1 %, not 0.8).
const CHANGE: f64 = 4.0;
/// Fewer values show no such levels.
const FEWEST: usize = 50;
/// A level that holds for less than this share of the series is a burst.
const BURST: usize = 20;
/// A burst speaks against the end if it lasts for this share of the beginning, or of the shortest level,
const LASTING: f64 = 0.25;
/// and is less than this share of the fall quicker than the beginning.
const QUICKER: f64 = 0.3;
/// The beginning is at least so much slower than what follows, on the logarithmic scale: 6 %. With half of it 7.7 %,
/// not 7.2, of recorded windows of 1000 repetitions have a false end, and no more ends behind several levels are found.
const FALL: f64 = 0.06;
/// If there is one level before the end and one behind it: 28 %. Nine of ten false ends in 1000 recorded run times fall
/// by less than 17 %.
const SINGLE: f64 = 0.25;
/// An end in the last quarter is none (Barrett et al., Virtual Machine Warmup Blows Hot and Cold, 2017).
const LATEST: f64 = 0.75;
/// An end is contradicted if the beginning is less than this slower than what follows: 2 %.
const NO_FALL: f64 = 0.02;
/// The place of an end is known within so many values and this share of it.
const NEAR: (usize, f64) = (2, 0.06);
/// A level begins at one of so many places, so that a series of 2048 takes no longer than one of 512.
const PLACES: usize = 512;
/// The series behind a beginning of levels that rise lasts for so many times as long as these do in the mean.
const LONGER: f64 = 2.5;
/// The series behind several levels that fall does not fall by more than this share of the last step.
const SETTLED: f64 = 0.2;
/// In so few repetitions few levels are seen to return.
const SHORT: usize = 500;

/// Limits that depend on the length of a series.
struct Limits {
    /// The cost of a change, as [`CHANGE`].
    change: f64,
    /// A beginning of one level falls by so many times as much as the levels behind it differ.
    beyond: f64,
    /// The series behind several levels lasts for so many times as long as these do in the mean.
    longer: f64,
    /// True if that is so of levels that fall, too.
    also_stairs: bool,
    /// The series behind a beginning of one level does not fall by more than this share of that step, from its first to
    /// its last third: a decay has settled.
    settled: f64,
    /// An end is contradicted if the beginning falls by less than so many times as much as the levels behind it differ.
    contradicted: f64,
}

const FEW: Limits =
    Limits { change: 3.0, beyond: 3.0, longer: 4.0, also_stairs: true, settled: 0.25, contradicted: 0.8 };
const MANY: Limits =
    Limits { change: CHANGE, beyond: 1.5, longer: LONGER, also_stairs: false, settled: 0.4, contradicted: 0.3 };

/// The levels of a series, bursts among them.
pub(super) struct Partition<'a> {
    levels: Vec<Level>,
    values: &'a [f64],
    is_short: bool,
    limits: &'static Limits,
}

/// Values from one place to another.
#[derive(Clone, Copy)]
struct Level {
    from: usize,
    to: usize,
    /// Their median.
    middle: f64,
}

impl Level {
    fn len(&self) -> usize {
        self.to - self.from
    }
}

impl<'a> Partition<'a> {
    /// Of values, each of which is the median of so many repetitions.
    pub(super) fn new(values: &'a [f64], width: usize) -> Self {
        let is_short = values.len() * width < SHORT;
        let limits = if is_short { &FEW } else { &MANY };
        let bounds =
            if values.len() < FEWEST { vec![0, values.len()] } else { bounds(&ranks(values).0, limits.change) };
        let level = |pair: &[usize]| {
            let middle = median_of(&values[pair[0]..pair[1]]).unwrap_or(f64::NAN);
            Level { from: pair[0], to: pair[1], middle }
        };
        Partition { levels: bounds.windows(2).map(level).collect(), values, is_short, limits }
    }

    fn lasts(&self, level: &&Level) -> bool {
        level.len() * BURST >= self.values.len()
    }

    /// The slowest of these levels, and by how much it is slower than the quickest, bursts apart.
    fn lasting(&self, levels: &[Level]) -> Option<(f64, f64)> {
        let lasting = || levels.iter().filter(|level| self.lasts(level)).map(|level| level.middle);
        let highest = lasting().reduce(f64::max)?;
        Some((highest, highest - lasting().reduce(f64::min)?))
    }

    /// Where a beginning ends that is slower than all that follows, by most.
    pub(super) fn end(&self) -> Option<usize> {
        let falls = (1..self.levels.len()).filter_map(|index| Some((self.fall(index)?, self.levels[index].from)));
        falls.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, end)| end)
    }

    /// By how much the quickest level before this one is slower than the slowest from it on. `None`: by no more than
    /// what these levels do by themselves.
    fn fall(&self, index: usize) -> Option<f64> {
        let (before, behind) = self.levels.split_at(index);
        let end = behind[0].from;
        let (highest, range) = self.lasting(behind)?;
        let lowest = quickest(before);
        let fall = lowest - highest;
        let lasting = behind.iter().filter(|level| self.lasts(level)).count();
        let &Limits { beyond, longer, also_stairs, settled, .. } = self.limits;
        let least = match (before.len(), lasting) {
            (1, 1) => SINGLE,
            (1, _) => FALL.max(beyond * range),
            _ => FALL,
        };
        let settles = match before.len() {
            1 => !self.falls_by(end, settled * fall),
            _ if falls(before) && !also_stairs => !self.falls_by(end, SETTLED * fall),
            levels => self.lasts_behind(end, levels, longer),
        };
        let is_burst = |level: &Level| {
            let length = LASTING * end.min(self.values.len() / BURST) as f64;
            !self.lasts(&level) && level.middle >= lowest - QUICKER * fall && level.len() as f64 >= length
        };
        let is_early = end as f64 <= LATEST * self.values.len() as f64;
        (is_early && fall > least && settles && !behind.iter().any(is_burst)).then_some(fall)
    }

    /// True if the values from this end on fall by more than this, from their first to their last third.
    fn falls_by(&self, end: usize, most: f64) -> bool {
        let behind = &self.values[end..];
        let third = behind.len() / 3;
        let [first, last] = [&behind[..third], &behind[behind.len() - third..]].map(middle);
        first - last > most
    }

    /// True if levels before this end are as quick as some behind it, or nearly, beside what these differ by; in short
    /// series also if they rise and what follows does not last for longer than they do.
    pub(super) fn contradicts(&self, end: usize) -> bool {
        let near = NEAR.0 + (NEAR.1 * end as f64) as usize;
        let is_before =
            |level: &Level| level.to <= end + near || level.from + near < end && 2 * end > level.from + level.to;
        let (before, behind) = self.levels.split_at(self.levels.partition_point(is_before));
        let Some((highest, range)) = self.lasting(behind).filter(|_| !before.is_empty()) else { return false };
        let is_brief = self.is_short && !falls(before) && !self.lasts_behind(end, before.len(), LONGER);
        quickest(before) - highest < NO_FALL.max(self.limits.contradicted * range) || is_brief
    }

    /// True if what follows this end lasts for so many times as long as each of the levels before it.
    fn lasts_behind(&self, end: usize, levels: usize, times: f64) -> bool {
        (self.values.len() - end) as f64 * levels as f64 >= times * end as f64
    }
}

/// True if each of these levels is quicker than the one before it.
fn falls(levels: &[Level]) -> bool {
    levels.is_sorted_by(|one, other| one.middle > other.middle)
}

fn quickest(levels: &[Level]) -> f64 {
    levels.iter().map(|level| level.middle).fold(f64::INFINITY, f64::min)
}

/// How far from each other the places are at which levels begin, in values.
pub(super) fn step(count: usize) -> usize {
    count.div_ceil(PLACES).max(1)
}

/// Where the levels of these ranks begin, and the end of the last. `change`: its cost, as [`CHANGE`].
fn bounds(ranks: &[f64], change: f64) -> Vec<usize> {
    let count = ranks.len();
    let middle = (count + 1) as f64 / 2.0;
    let variance = ranks.iter().map(|rank| (rank - middle).powi(2)).sum::<f64>() / count as f64;
    if variance == 0.0 {
        return vec![0, count];
    }
    let penalty = change * (count as f64).ln() * variance;
    let sums = sums(&ranks.iter().map(|rank| rank - middle).collect::<Vec<f64>>());
    let step = step(count);
    let places: Vec<usize> = (0..count).step_by(step).chain([count]).collect();
    let sums: Vec<f64> = places.iter().map(|&place| sums[place]).collect();
    let inverse: Vec<f64> = (0..=count).map(|length| (length as f64).recip()).collect();
    // The least cost of the values before each place, and where their last level begins. The squares of the ranks are
    // the same for any division.
    let (mut least, mut last) = (vec![-penalty], vec![0]);
    for end in 1..places.len() {
        let (mut best, mut cost) = (0, f64::INFINITY);
        for start in 0..end {
            let sum = sums[end] - sums[start];
            let here = least[start] - sum * sum * inverse[places[end] - places[start]];
            if here < cost {
                (best, cost) = (start, here);
            }
        }
        last.push(best);
        least.push(cost + penalty);
    }
    let mut bounds = Vec::new();
    let mut at = places.len() - 1;
    while at > 0 {
        bounds.push(places[at]);
        at = last[at];
    }
    bounds.push(0);
    bounds.reverse();
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked of levels that last for so long, with noise of 1 %.
    fn asked<T>(parts: &[(usize, f64)], ask: impl Fn(&Partition) -> T) -> T {
        let mut random = fastrand::Rng::with_seed(4);
        let levels = parts.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count));
        let values: Vec<f64> = levels.map(|level| level + 0.02 * (random.f64() - 0.5)).collect();
        ask(&Partition::new(&values, 1))
    }

    fn end(parts: &[(usize, f64)]) -> Option<usize> {
        asked(parts, |found| found.end())
    }

    #[test]
    fn a_beginning_of_several_levels_ends_where_all_that_follows_is_quicker() {
        assert_eq!(end(&[(100, 0.5), (100, 1.0), (100, 0.7), (700, 0.0)]), Some(300));
        // What follows may rise and fall.
        assert_eq!(end(&[(100, 0.5), (200, 1.0), (300, 0.1), (200, 0.3), (200, 0.0)]), Some(300));
        assert_eq!(end(&[(300, 1.0), (300, 0.1), (200, 0.3), (200, 0.0)]), Some(300));
        // A level as slow returns, or the beginning falls by little more than the levels behind it differ.
        assert_eq!(end(&[(100, 0.5), (200, 0.1), (100, 0.6), (300, 0.0), (300, 0.2)]), None);
        assert_eq!(end(&[(300, 0.5), (300, 0.0), (200, 0.3), (200, 0.0)]), None);
        // It lasts for too long: the levels may come and go, or it ends in the last quarter.
        assert_eq!(end(&[(300, 0.5), (400, 1.0), (300, 0.0)]), None);
        assert_eq!(end(&[(800, 1.0), (200, 0.0)]), None);
    }

    #[test]
    fn a_single_change_is_the_end_of_a_beginning_if_it_is_large() {
        assert_eq!(end(&[(300, 0.2), (700, 0.0)]), None);
        assert_eq!(end(&[(300, 0.3), (700, 0.0)]), Some(300));
        // A burst as slow: it may be one of many.
        assert_eq!(end(&[(300, 0.3), (300, 0.0), (30, 0.3), (370, 0.0)]), None);
    }

    #[test]
    fn a_beginning_that_falls_ends_where_it_has_settled() {
        let stairs = [(200, 0.9), (200, 0.6), (200, 0.4), (200, 0.2)];
        assert_eq!(end(&[&stairs[..], &[(200, 0.0)]].concat()), None);
        assert_eq!(end(&[&stairs[..], &[(1200, 0.0)]].concat()), Some(800));
        // In a short series levels that come and go are as likely.
        assert_eq!(end(&[(80, 0.9), (80, 0.6), (140, 0.0)]), None);
        assert_eq!(end(&[(30, 0.9), (30, 0.6), (240, 0.0)]), Some(60));
    }

    #[test]
    fn an_end_is_contradicted_by_a_level_before_it_that_is_as_quick_as_one_behind_it() {
        let contradicts = |parts: &[(usize, f64)], end: usize| asked(parts, |found| found.contradicts(end));
        let returns = [(100, 0.5), (100, 0.1), (100, 0.5), (400, 0.0), (300, 0.3)];
        assert!(contradicts(&returns, 300) && contradicts(&returns, 295));
        assert!(contradicts(&[(300, 0.36), (400, 0.0), (300, 0.3)], 300));
        assert!(!contradicts(&[(300, 0.5), (400, 0.0), (300, 0.3)], 300));
        // Of a beginning that is too short for a level nothing is known.
        assert!(!contradicts(&returns, 5));
    }

    #[test]
    fn equal_values_and_few_values_are_one_level() {
        for count in [0, 1, 10, 200] {
            let values = vec![1.0; count];
            let found = Partition::new(&values, 1);
            assert_eq!((found.end(), found.contradicts(count / 2)), (None, false));
        }
    }
}
