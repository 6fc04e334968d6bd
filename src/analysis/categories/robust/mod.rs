//! Our own categories: change points on a robust cost, and a class for the operation.
//!
//! run times -> [`scale`] -> [`noise`] -> [`cells`] -> [`segments`] -> [`place`] -> [`warmup`] -> [`class`] and
//! [`outliers`]

mod cells;
mod class;
mod noise;
mod outliers;
mod place;
mod scale;
mod segments;
#[cfg(test)]
mod tests;
mod warmup;

pub use class::Class;

use std::ops::Range;

use cells::Cells;
use noise::Noise;
use outliers::Fences;

use super::category::{Categories, Category};
use crate::statistics::median;

/// The robust rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robust {
    /// A warm-up ends within this share of the repetitions.
    pub latest_end: f64,
    /// Levels that differ by no more than this share are one.
    pub smallest_change: f64,
    /// The chance that a series which goes on like this one begins so without a warm-up must be below this.
    pub chance: f64,
    /// An outlier takes so many times its level, or more,
    pub outlier: f64,
    /// or lies so many distances of the quartiles above the upper one,
    pub fence: f64,
    /// and so many standard deviations, told from the median absolute deviation, above the median.
    pub mad: f64,
}

impl Default for Robust {
    /// A quarter, 2 %, 1 in 500; twice the level as in Roth's rule; Tukey's outer fences ("far out"), 5 standard
    /// deviations.
    fn default() -> Self {
        Robust { latest_end: 0.25, smallest_change: 0.02, chance: 0.002, outlier: 2.0, fence: 3.0, mad: 5.0 }
    }
}

/// What the robust rule finds.
#[derive(Clone, Debug, PartialEq)]
pub struct RobustCategories {
    /// The category of each repetition.
    pub categories: Categories,
    /// What the operation does over time.
    pub class: Class,
    /// The numbers of the repetitions at which the level changes, the end of a warm-up among them.
    pub change_points: Vec<u64>,
    /// The level before the first change, between the first and the second, and so on: medians, ns.
    pub level_ns: Vec<f64>,
}

/// A run time is infinite or not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("repetition {repetition}: the run time is not a finite number")]
pub struct NotFinite {
    /// Its number.
    pub repetition: u64,
}

/// A change must lower the cost by this, and by [`PER_LOGARITHM`] for each ln n, in variances of the noise.
const PENALTY: f64 = 4.0;
/// See [`PENALTY`].
const PER_LOGARITHM: f64 = 2.0;

impl Robust {
    /// Applies the rule to run times in ns, of the repetitions with these numbers, ascending.
    ///
    /// Where repetition 0 was not kept neither first nor warm-up exist.
    pub fn categorize(&self, repetition: &[u64], run_time_ns: &[f64]) -> Result<RobustCategories, NotFinite> {
        assert_eq!(repetition.len(), run_time_ns.len(), "one run time for each repetition");
        if let Some(row) = run_time_ns.iter().position(|x| !x.is_finite()) {
            return Err(NotFinite { repetition: repetition[row] });
        }
        let Some(median_ns) = median(&mut run_time_ns.to_vec()) else {
            let categories = Categories { category: Vec::new(), warmup_end: None, median_ns: None, overlaps: 0 };
            let (change_points, level_ns) = (Vec::new(), Vec::new());
            return Ok(RobustCategories { categories, class: Class::Flat, change_points, level_ns });
        };
        let y = scale::relative(run_time_ns, median_ns);
        let from_the_start = repetition[0] == 0;
        let (changes, warmup) = self.changes(&y, from_the_start);
        let end = warmup.map(|index| changes[index]);
        let after = warmup.map_or(0, |index| index + 1);
        let level_ns = place::levels(run_time_ns, &changes);
        let class = class::class(warmup.is_some(), &changes[after..], &level_ns[after..], y.len());

        let settled = end.unwrap_or(usize::from(from_the_start)).min(run_time_ns.len());
        let mut excess: Vec<f64> = Vec::with_capacity(run_time_ns.len());
        for (segment, &level) in segments_of(&changes, run_time_ns.len()).zip(&level_ns) {
            let settled = &run_time_ns[segment.start.max(settled).min(segment.end)..segment.end];
            excess.extend(settled.iter().map(|x| excess_over((x, level))));
        }
        let fences = Fences::of(&mut excess, self.fence, self.mad);
        let mut overlaps = 0;
        let mut category = Vec::with_capacity(run_time_ns.len());
        for (segment, &level) in segments_of(&changes, run_time_ns.len()).zip(&level_ns) {
            for row in segment {
                let early = match end {
                    _ if from_the_start && row == 0 => Some(Category::First),
                    Some(end) if row < end => Some(Category::Warmup),
                    _ => None,
                };
                // Beside what it will come to, as in Roth's rule, where the warm-up's own level says nothing of it.
                let usual = if early.is_some() { level_ns[after] } else { level };
                let x = run_time_ns[row];
                let slow = (usual > 0.0 && x >= self.outlier * usual)
                    || fences.is_some_and(|fences| fences.exceeded_by(excess_over((&x, usual))));
                overlaps += u64::from(early.is_some() && slow);
                category.push(early.unwrap_or(if slow { Category::Outlier } else { Category::Good }));
            }
        }
        let warmup_end = end.map(|end| repetition[end]);
        Ok(RobustCategories {
            categories: Categories { category, warmup_end, median_ns: Some(median_ns), overlaps },
            class,
            change_points: changes.iter().map(|&row| repetition[row]).collect(),
            level_ns,
        })
    }

    /// The rows at which the level changes, and which of them ends the warm-up.
    fn changes(&self, y: &[f64], from_the_start: bool) -> (Vec<usize>, Option<usize>) {
        let latest = (self.latest_end * y.len() as f64) as usize;
        let smallest = self.smallest_change.ln_1p();
        let noise = Noise::of(y);
        let cells = Cells::of(y, noise);
        let penalty = PENALTY + PER_LOGARITHM * (y.len() as f64).ln();
        let mut inflation = noise.inflation;
        let mut starts = self.segments(&cells, noise.sigma, inflation, penalty);
        let residual = segments::residual(&cells, &starts, noise.sigma);
        if residual > inflation {
            inflation = residual;
            starts = self.segments(&cells, noise.sigma, inflation, penalty);
        }
        let mut changes: Vec<usize> = starts.iter().map(|&cell| cells.edges[cell]).collect();
        place::refine(y, &mut changes, noise.sigma);
        let mut levels = place::levels(y, &changes);
        let variance = noise.sigma * noise.sigma * inflation;
        if !from_the_start {
            return (changes, None);
        }
        match changes.first() {
            // Of few repetitions the median says little: the place once more, against the level that follows alone.
            Some(&first) if first <= warmup::SHORT => {
                let next = changes.get(1).copied().unwrap_or(y.len());
                if let Some(end) = warmup::short(y, levels[1], noise.sigma, inflation, latest.min(next - 1)) {
                    changes[0] = end;
                    levels = place::levels(y, &changes);
                }
            }
            _ => {
                if let Some(end) = warmup::short(y, levels[0], noise.sigma, inflation, latest) {
                    let with = [&[end], &changes[..]].concat();
                    let with_levels = place::levels(y, &with);
                    if warmup::chance(y, end, &with, &with_levels) < self.chance {
                        (changes, levels) = (with, with_levels);
                    }
                }
            }
        }
        while let Some(index) = warmup::end(&changes, &levels, y.len(), latest, smallest, variance) {
            if changes[index] >= 2 && warmup::chance(y, changes[index], &changes, &levels) < self.chance {
                return (changes, Some(index));
            }
            // What a series like this does by chance is no change of its level.
            changes.drain(..=index);
            levels = place::levels(y, &changes);
        }
        (changes, None)
    }

    fn segments(&self, cells: &Cells, sigma: f64, inflation: f64, penalty: f64) -> Vec<usize> {
        let variance = sigma * sigma * inflation;
        let starts = segments::optimal(cells, penalty * variance);
        let mut starts = segments::significant(cells, starts, variance, penalty, self.smallest_change.ln_1p());
        // A cell in which the level changes lies between both levels. It is no level of its own.
        let straddles = |pair: &[usize]| pair[1] == pair[0] + 1 && cells.weight(pair[0]..pair[1]) > 1.0;
        let straddling: Vec<usize> = starts.windows(2).filter(|pair| straddles(pair)).map(|pair| pair[0]).collect();
        starts.retain(|start| !straddling.contains(start));
        starts
    }
}

/// The repetitions of each segment.
fn segments_of(changes: &[usize], length: usize) -> impl Iterator<Item = Range<usize>> {
    let ends = changes.iter().copied().chain([length]);
    let starts = [0].into_iter().chain(changes.iter().copied());
    starts.zip(ends).map(|(from, to)| from..to)
}

/// The excess of a run time over its level, as a share of the level where it has one.
fn excess_over((x, level): (&f64, f64)) -> f64 {
    match level > 0.0 {
        true => x / level - 1.0,
        false => x - level,
    }
}
