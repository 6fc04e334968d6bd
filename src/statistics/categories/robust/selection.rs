//! Which changes of the level there are: the strongest is taken as long as it is more than noise.

use std::ops::Range;

use super::jump::sums;
use super::jump::{Change, Noise};
use super::spread::Spread;
use super::unique::middle;
use super::{memory, place, segments_of, trellis};

/// So many candidates are tested in a turn: those that explain most.
const TESTED: usize = 6;
/// And so many pairs.
const PAIRS: usize = 2;
/// Fewer values at the end are no level; a beginning is followed by at least so many.
const SETTLED: usize = 8;
/// The least length of a level that begins later than at the start.
const LASTS: usize = 20;
/// So many early candidates are tested in a turn.
const EARLY: usize = 64;
/// A level that comes and goes sooner is a burst.
pub(super) const PAIR: usize = 50;
/// A level holds this share of its repetitions at least.
const USUAL: f64 = 0.55;
/// So many quick repetitions may come before a slow beginning.
const QUICK: usize = 3;
/// At most so many changes.
const MOST: usize = 30;
/// The chance of a false change.
const CHANCE: f64 = 2e-4;
/// The chance of a false first change.
const FIRST_CHANCE: f64 = 8e-4;
/// Fewer correlation times than this tell no level.
pub(super) const CORRELATION_TIMES: f64 = 20.0;
/// The values next behind a change that may show a scatter of their own,
const BESIDE: usize = 30;
/// where more than this share is quicker than any other.
const SCATTERED: f64 = 0.08;
/// So many values show their correlations; fewer are taken to be autoregressive where that is worse.
pub(super) const KNOWN: usize = 200;
/// The factor by which changes of so short a series must be stronger.
const UNDECIDED: f64 = 1.5;

/// A series, or blocks of it.
#[derive(Clone, Copy)]
pub(super) struct Series<'a> {
    pub values: &'a [f64],
    /// The tick of the clock, on the scale of the values.
    pub tick: f64,
    /// The smallest standard deviation that can be known.
    pub least: f64,
    /// True if the first value is that of the beginning.
    pub from_the_start: bool,
}

/// The levels of a series.
#[derive(Clone, Debug, Default)]
pub(super) struct Selected {
    /// The places at which the level changes.
    pub changes: Vec<usize>,
    /// The scatter around the levels.
    pub deviation: f64,
    /// The sum of the correlations of neighbours, in values.
    pub correlation_time: f64,
    /// How many values are no outliers.
    pub usual: usize,
}

impl Selected {
    /// True if the values are correlated over so long that they show no level.
    pub(super) fn undecided(&self) -> bool {
        (self.usual as f64) < CORRELATION_TIMES * self.correlation_time
    }
}

impl Series<'_> {
    pub(super) fn select(&self) -> Selected {
        let candidates = trellis::changes(self.values, trellis::deviation(self.values, self.least));
        let mut changes: Vec<usize> = Vec::new();
        while changes.len() < MOST {
            let steps = self.steps(&candidates, &changes);
            let mut best: Option<(f64, Vec<usize>)> = None;
            for step in steps {
                let strength = self.strength(&changes, &step);
                if strength > 1.0 && best.as_ref().is_none_or(|(strongest, _)| strength > *strongest) {
                    best = Some((strength, step));
                }
            }
            let Some((_, step)) = best else { break };
            changes.extend(step);
            changes.sort_unstable();
            let deviation = self.around(&changes).spread.below;
            place::refine(self.values, &mut changes, deviation, self.values.len());
            changes.dedup();
        }
        let around = self.around(&changes);
        let correlation_time = memory::correlation_time(&around.residuals);
        let deviation = around.spread.below.max(self.least);
        Selected { changes, deviation, correlation_time, usual: around.residuals.len() }
    }

    /// The candidates that explain most: single ones, and pairs of neighbours.
    fn steps(&self, candidates: &[usize], changes: &[usize]) -> Vec<Vec<usize>> {
        let values = self.values;
        let middle = middle(values);
        let deviation = trellis::deviation(values, self.least);
        let near = |value: &f64| (value - middle).clamp(-5.0 * deviation, 5.0 * deviation);
        let sums = sums(&values.iter().map(near).collect::<Vec<f64>>());
        let mut single: Vec<(f64, Vec<usize>)> = Vec::new();
        let mut pairs: Vec<(f64, Vec<usize>)> = Vec::new();
        let gain = |inner: Range<usize>, outer: Range<usize>| {
            let (count, all) = (inner.len() as f64, outer.len() as f64);
            let sum = sums[inner.end] - sums[inner.start];
            let rest = sums[outer.end] - sums[outer.start] - sum;
            let difference = sum / count - rest / (all - count).max(1.0);
            difference * difference * count * (all - count) / all
        };
        for (index, &at) in candidates.iter().enumerate() {
            if changes.contains(&at) {
                continue;
            }
            let outer = segment(changes, at, values.len());
            single.push((gain(outer.start..at, outer.clone()), vec![at]));
            if let Some(&next) = candidates.get(index + 1)
                && next < outer.end
                && next - at > PAIR.max(outer.len() / 16)
            {
                pairs.push((gain(at..next, outer), vec![at, next]));
            }
        }
        let mut early: Vec<(f64, Vec<usize>)> = single.iter().filter(|(_, step)| step[0] <= EARLY).cloned().collect();
        for (steps, tested) in [(&mut single, TESTED), (&mut pairs, PAIRS), (&mut early, TESTED)] {
            steps.sort_by(|a, b| b.0.total_cmp(&a.0));
            steps.truncate(tested);
        }
        early.retain(|step| !single.contains(step));
        [single, pairs, early].concat().into_iter().map(|(_, step)| step).collect()
    }

    /// The strength of these changes, beside those that there are: of the weakest.
    fn strength(&self, changes: &[usize], step: &[usize]) -> f64 {
        let mut all = [changes, step].concat();
        all.sort_unstable();
        let mut around = self.around(&all);
        if around.is_burst() {
            return 0.0;
        }
        let demand = if around.undecided() { UNDECIDED } else { 1.0 };
        let noise = Noise::new(std::mem::take(&mut around.residuals), &around.starts, self.least);
        step.iter()
            .map(|at| {
                let index = all.iter().position(|other| other == at).unwrap_or(0);
                let (from, to) = (around.starts[index], around.starts[index + 2]);
                let change = Change {
                    at: around.starts[index + 1],
                    before: around.starts[index + 1] - from,
                    behind: to - around.starts[index + 1],
                    fall: around.levels[index] - around.levels[index + 1],
                    first: index == 0 && self.from_the_start,
                };
                let enough = match (change.first, change.fall > 0.0) {
                    (true, true) => change.behind >= SETTLED,
                    (true, false) => change.behind >= LASTS && change.before >= SETTLED,
                    (false, _) => change.behind >= LASTS && change.before >= LASTS,
                };
                let start = index.checked_sub(1).map_or(0, |before| all[before]);
                let enough = enough
                    && change.before + 2 >= (USUAL * (at - start) as f64 + 2.0) as usize
                    && !around.scatters_behind(*at, at - start)
                    && (!change.first || around.first <= QUICK.min(at / 8));
                let chance = if change.first { FIRST_CHANCE } else { CHANCE };
                if enough { noise.strength(change, chance) / demand } else { 0.0 }
            })
            .fold(f64::INFINITY, f64::min)
    }

    fn around(&self, changes: &[usize]) -> Around {
        let values = self.values;
        let mut residuals = Vec::with_capacity(values.len());
        let mut levels = Vec::with_capacity(changes.len() + 1);
        for rows in segments_of(changes, values.len()) {
            let level = middle(&values[rows.clone()]);
            residuals.extend(values[rows].iter().map(|value| value - level));
            levels.push(level);
        }
        let spread = Spread::new(&mut residuals.clone(), self.least, self.tick);
        let mut starts = vec![0];
        let mut usual = Vec::with_capacity(values.len());
        let mut first = values.len();
        let mut quick = Vec::new();
        let mut ends = changes.iter().copied().chain([values.len()]).peekable();
        for (i, &residual) in residuals.iter().enumerate() {
            if ends.peek() == Some(&i) {
                ends.next();
                starts.push(usual.len());
            }
            if residual < spread.low {
                quick.push(i);
            }
            if spread.holds(residual) {
                first = first.min(i);
                usual.push(residual);
            }
        }
        starts.push(usual.len());
        Around { residuals: usual, first, quick, places: changes.to_vec(), starts, levels, spread }
    }
}

/// The values around their levels, without outliers.
struct Around {
    residuals: Vec<f64>,
    /// The place of the first of them.
    first: usize,
    /// The places of outliers that are quicker than the others.
    quick: Vec<usize>,
    places: Vec<usize>,
    /// Where each level begins among them, and the end of the last.
    starts: Vec<usize>,
    levels: Vec<f64>,
    spread: Spread,
}

impl Around {
    /// True if a level comes and goes so soon that it is a burst.
    fn is_burst(&self) -> bool {
        let short = |index: usize| self.places[index + 1] - self.places[index] <= PAIR;
        let between = |index: usize| {
            let [before, own, behind] = [self.levels[index], self.levels[index + 1], self.levels[index + 2]];
            (own > before) == (own > behind)
        };
        (0..self.places.len().saturating_sub(1)).any(|index| short(index) && between(index))
    }

    /// True if the values next behind this place are often quicker than any other. They scatter more, as do those
    /// before it. `before`: how many these are.
    fn scatters_behind(&self, at: usize, before: usize) -> bool {
        let reach = before.max(BESIDE);
        let quick = self.quick.iter().filter(|&&place| place >= at && place < at + reach).count();
        quick > QUICK && quick as f64 > SCATTERED * reach as f64
    }

    fn undecided(&self) -> bool {
        let count = self.residuals.len() as f64;
        let time = memory::correlation_time(&self.residuals);
        if self.residuals.len() >= KNOWN {
            return count < CORRELATION_TIMES * time;
        }
        let phi = memory::first_correlation(&self.residuals, self.levels.len()).clamp(0.0, 0.99);
        count < CORRELATION_TIMES * time.max(phi / (1.0 - phi))
    }
}

fn segment(changes: &[usize], at: usize, length: usize) -> Range<usize> {
    let index = changes.partition_point(|&change| change <= at);
    index.checked_sub(1).map_or(0, |before| changes[before])..changes.get(index).copied().unwrap_or(length)
}
