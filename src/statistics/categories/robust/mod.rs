//! Our own categories: change points on a robust cost, and a class for the operation.
//!
//! run times -> [`scale`] -> [`blocks`] -> [`beginning`] ([`falling`], [`unique`]) -> [`trellis`] -> [`selection`]
//! ([`spread`], [`jump`], [`memory`]) -> [`place`] -> [`partition`] -> [`class`], [`tail`]

mod beginning;
mod blocks;
mod class;
mod falling;
mod jump;
mod levels;
mod memory;
mod partition;
mod place;
#[cfg(test)]
mod reference_tests;
mod scale;
mod selection;
mod spread;
mod tail;
#[cfg(test)]
mod tests;
mod tick;
mod trellis;
mod trend;
mod unique;
mod window;

pub use class::Class;

use std::ops::Range;

use levels::Levels;
use partition::Partition;

use super::category::{Categories, Category};
use crate::estimators::median_of;

/// The robust rule.
///
/// ```
/// use mpitrace_statistics::categories::{Class, Robust};
///
/// // 20 repetitions of 8 us, then 80 of 2 us.
/// let run_time_ns: Vec<f64> = (0..100).map(|i| if i < 20 { 8000.0 } else { 2000.0 + f64::from(i % 7) }).collect();
/// let found = Robust.categorize(&(0..100).collect::<Vec<u64>>(), &run_time_ns)?;
/// assert_eq!((found.class, found.change_points), (Class::Warmup, vec![20]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robust;

/// Levels that differ by no more than this share are one.
const SMALLEST_CHANGE: f64 = 0.02;
/// An outlier lies at least so many standard deviations above its level.
const OUTLIER_DEVIATIONS: f64 = 3.0;

/// The result of the robust rule.
#[derive(Clone, Debug, PartialEq)]
pub struct RobustCategories {
    /// The category of each repetition.
    pub categories: Categories,
    /// The behaviour of the operation over time.
    pub class: Class,
    /// The numbers of the repetitions at which the level changes, the end of a warm-up among them.
    pub change_points: Vec<u64>,
    /// The level before the first change, between the first and the second, and so on: medians, ns.
    pub level_ns: Vec<f64>,
}

/// The levels of run times, and what they make of them.
struct Course {
    /// Where the warm-up ends.
    end: Option<usize>,
    changes: Vec<usize>,
    levels: Vec<f64>,
    class: Class,
}

/// A run time is infinite or not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("repetition {repetition}: the run time is not a finite number")]
pub struct NotFinite {
    /// Its number.
    pub repetition: u64,
}

/// No timer and no level is better known than this relative difference.
const LEAST_DEVIATION: f64 = 1e-3;

impl Robust {
    /// Applies the rule to run times in ns, of the repetitions with these numbers, ascending.
    ///
    /// Where repetition 0 was not kept neither first nor warm-up exist.
    ///
    /// # Errors
    /// A run time that is not finite.
    pub fn categorize(&self, repetition: &[u64], run_time_ns: &[f64]) -> Result<RobustCategories, NotFinite> {
        assert_eq!(repetition.len(), run_time_ns.len(), "one run time for each repetition");
        if let Some(row) = run_time_ns.iter().position(|x| !x.is_finite()) {
            return Err(NotFinite { repetition: repetition[row] });
        }
        let length = run_time_ns.len();
        let from_the_start = repetition.first() == Some(&0);
        let median_of_all = median_of(run_time_ns);
        let Some(median_ns) = median_of_all.filter(|_| length >= class::LEAST) else {
            let category = (0..length).map(|row| match row {
                0 if from_the_start => Category::First,
                _ => Category::Good,
            });
            let category = category.collect();
            let categories = Categories { category, warmup_end: None, median_ns: median_of_all, overlaps: 0 };
            let (change_points, level_ns) = (Vec::new(), Vec::from_iter(median_of_all));
            return Ok(RobustCategories { categories, class: Class::TooFew, change_points, level_ns });
        };
        let y = scale::relative(run_time_ns, median_ns);
        let tick = scale::tick(tick::tick(run_time_ns), run_time_ns, median_ns);
        let Course { end, changes, levels, class } = self.course(&y, tick, from_the_start);
        let after = usize::from(end.is_some());

        let settled = end.unwrap_or(usize::from(from_the_start));
        let mut excess: Vec<f64> = Vec::with_capacity(length);
        for (segment, &level) in segments_of(&changes, length).zip(&levels) {
            let settled = &y[segment.start.max(settled).min(segment.end)..segment.end];
            excess.extend(settled.iter().map(|y| y - level));
        }
        let highest = tail::highest(&mut excess, LEAST_DEVIATION, tick, OUTLIER_DEVIATIONS);
        let mut overlaps = 0;
        let mut category = Vec::with_capacity(length);
        for (segment, &level) in segments_of(&changes, length).zip(&levels) {
            for row in segment {
                let early = match end {
                    _ if from_the_start && row == 0 => Some(Category::First),
                    Some(end) if row < end => Some(Category::Warmup),
                    _ => None,
                };
                // Beside what it will come to, as in Roth's rule, where the warm-up's own level says nothing of it.
                let usual = if early.is_some() { levels[after] } else { level };
                let slow = y[row] - usual > highest;
                overlaps += u64::from(early.is_some() && slow);
                category.push(early.unwrap_or(if slow { Category::Outlier } else { Category::Good }));
            }
        }
        let warmup_end = end.map(|end| repetition[end]);
        Ok(RobustCategories {
            categories: Categories { category, warmup_end, median_ns: Some(median_ns), overlaps },
            class,
            change_points: changes.iter().map(|&row| repetition[row]).collect(),
            level_ns: place::levels(run_time_ns, &changes),
        })
    }

    /// The levels of run times and what they make of them.
    fn course(&self, y: &[f64], tick: f64, from_the_start: bool) -> Course {
        let (end, found) = self.changes(y, tick, from_the_start);
        let mut course = self.settled(y, tick, end, found, false);
        if !from_the_start {
            return course;
        }
        let width = blocks::widths(y.len()).last().copied().unwrap_or(1);
        let seen = blocks::blocks(y, width);
        let partition = Partition::new(&seen, width);
        let is_contradicted = |end: &mut usize| {
            partition.contradicts(*end / width) && !unique::scores(y, *end, tick, LEAST_DEVIATION).alternates(0, *end)
        };
        if course.end.take_if(is_contradicted).is_some() {
            course.class = class::class(false, &course.changes, &course.levels, y.len());
        }
        let Some(end) = partition.end().filter(|_| course.end.is_none()) else { return course };
        let step = width * partition::step(seen.len());
        let end = if step == 1 { end } else { place::near(y, end * width, step, LEAST_DEVIATION) };
        self.settled(y, tick, Some(end), behind(y, end, tick), true)
    }

    /// The course with this end of a warm-up and these changes, without those that are too small to matter. `varies`:
    /// what follows the end may come to no level.
    fn settled(&self, y: &[f64], tick: f64, mut end: Option<usize>, found: Levels, varies: bool) -> Course {
        let length = y.len();
        let (mut changes, undecided, trend) = (found.changes, found.undecided, found.trend);
        let mut levels = place::levels(y, &changes);
        // Of a slow decay the beginning is far slower than its median, and where some are slow its mean is.
        let slowest = end.map(|end| {
            let beginning = &y[..end.div_ceil(4)];
            let alternates = unique::scores(y, end, tick, LEAST_DEVIATION).alternates(0, end);
            if alternates { unique::mean(beginning) } else { unique::middle(beginning) }
        });
        self.leave_out_small(y, &mut changes, &mut levels, slowest);
        end = end.filter(|&end| changes.first() == Some(&end) && slowest > levels.get(1).copied());
        let after = usize::from(end.is_some());
        let mut class = match (undecided && end.is_none(), trend) {
            (true, 0) => Class::Undecided,
            (true, 1..) => Class::Slowdown,
            (true, _) => Class::NoSteadyState,
            (false, _) => class::class(end.is_some(), &changes[after..], &levels[after..], length),
        };
        // Nothing has settled.
        if class == Class::NoSteadyState && !varies && end.take().is_some() {
            class = class::class(false, &changes, &levels, length);
        }
        // A level that holds for less than a quarter of the series is not what the beginning comes to (Barrett et al.
        // 2017): the change is one at the end.
        if end.take_if(|end| 4 * (length - *end) < length).is_some() {
            class = class::class(false, &changes, &levels, length);
        }
        Course { end, changes, levels, class }
    }

    /// Where the warm-up ends, and where the level changes.
    fn changes(&self, y: &[f64], tick: f64, from_the_start: bool) -> (Option<usize>, Levels) {
        let mut found = levels::find(y, tick, LEAST_DEVIATION, from_the_start);
        if !from_the_start {
            return (None, found);
        }
        let sudden = self.at_once(y, &mut found.changes, tick);
        let gradual = beginning::end(y, tick, LEAST_DEVIATION);
        let is_sudden =
            |at: usize, end: usize| end <= at + at / 4 + 1 && beginning::is_over(y, at, end, LEAST_DEVIATION);
        let Some(end) = gradual.filter(|&end| sudden.is_none_or(|at| !is_sudden(at, end))) else {
            return (sudden, found);
        };
        (Some(end), behind(y, end, tick))
    }

    /// Where a warm-up ends that falls at once: the last change before which every level was slower than behind it. The
    /// changes of one that is like later ones are left out.
    fn at_once(&self, y: &[f64], changes: &mut Vec<usize>, tick: f64) -> Option<usize> {
        let levels = place::levels(y, changes);
        let smallest = SMALLEST_CHANGE.ln_1p();
        let slower = |index: usize| levels[..=index].iter().all(|level| level - levels[index + 1] > smallest);
        let last = (0..changes.len()).rev().find(|&index| slower(index))?;
        let end = changes[last];
        let fall = levels[0].min(levels[last]) - levels[last + 1];
        let level_of = |row: usize| levels[changes.partition_point(|&change| change <= row)];
        let is_burst = unique::is_burst(y.len(), end, fall, |row| y[row] - level_of(row));
        let stands_out = unique::scores(y, end, tick, LEAST_DEVIATION).stands_out(end);
        let is_warmup = stands_out && !is_burst && !unique::comes_and_goes(y, 1, end, fall, LEAST_DEVIATION, true);
        changes.drain(..if is_warmup { last } else { last + 1 });
        is_warmup.then_some(end)
    }

    /// Leaves out the changes, smallest first, that are too small to matter. `slowest`: of the level of a warm-up, how
    /// slow it begins.
    fn leave_out_small(&self, y: &[f64], changes: &mut Vec<usize>, levels: &mut Vec<f64>, slowest: Option<f64>) {
        let smallest = SMALLEST_CHANGE.ln_1p();
        let warmup = slowest.and(changes.first().copied());
        let size = |changes: &[usize], levels: &[f64], index: usize| {
            let is_warmup = index == 0 && changes.first().copied() == warmup;
            let before = slowest.filter(|_| is_warmup).unwrap_or(levels[index]);
            (levels[index + 1] - before).abs()
        };
        let weakest = |changes: &[usize], levels: &[f64]| {
            let sizes = (0..changes.len()).map(|index| (index, size(changes, levels, index)));
            sizes.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, size)| *size <= smallest)
        };
        while let Some((index, _)) = weakest(changes, levels) {
            changes.remove(index);
            *levels = place::levels(y, changes);
        }
    }
}

/// The changes of the level from the end of a warm-up on, which is the first of them.
fn behind(y: &[f64], end: usize, tick: f64) -> Levels {
    let mut found = levels::find(&y[end..], tick, LEAST_DEVIATION, false);
    // A short slow stretch that follows is a burst.
    let is_burst =
        |&&at: &&usize| at <= selection::PAIR && unique::middle(&y[end..end + at]) > unique::middle(&y[end + at..]);
    if found.changes.first().filter(is_burst).is_some() {
        found.changes.remove(0);
    }
    found.changes.iter_mut().for_each(|at| *at += end);
    found.changes.insert(0, end);
    found
}

fn segments_of(changes: &[usize], length: usize) -> impl Iterator<Item = Range<usize>> {
    let ends = changes.iter().copied().chain([length]);
    let starts = [0].into_iter().chain(changes.iter().copied());
    starts.zip(ends).map(|(from, to)| from..to)
}
