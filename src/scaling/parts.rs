//! The parts of the time of all runs: their growth, and draws of what they may take on another number of ranks.
//!
//! A draw moves the means of all parts together by the noise of the runs, takes for each part a law by its weight, fits
//! it to the moved means, and adds the noise of one run. So the interval has the error of the means, that of the law,
//! and what runs differ; that the deviation of the noise itself is known from few runs makes it wider, as Student's t
//! does.

use std::collections::BTreeSet;

use fastrand::Rng;
use mpitrace_statistics::models::Estimate;

use crate::facts::{Kind, PartKey, RunFacts};
use crate::fit::{Curve, Fitted};
use crate::growth::{self, GrowingPart, Growth};
use crate::law::Model;
use crate::mode::Mode;
use crate::noise::Noise;
use crate::prediction::Limit;

/// Draws: the ends of an interval of 95 % are then known to some 3 % of its width.
const DRAWS: usize = 2000;
/// The share of the draws within an interval.
const HELD: f64 = 0.95;
/// A part that is less of the time on all numbers of ranks is not looked at by itself.
const SMALL: f64 = 0.002;

/// The times of parts, by part and run.
pub(crate) struct Matrix<K> {
    keys: Vec<K>,
    /// True: the part begins with two ranks.
    between: Vec<bool>,
    /// By level: the ranks, and the mean time of a run.
    ranks: Vec<f64>,
    whole: Vec<f64>,
    /// By level and run: the times of the parts, s.
    runs: Vec<Vec<Vec<f64>>>,
}

/// Results for all parts.
pub(crate) struct Simulated<K> {
    /// The largest excess on the most ranks first.
    pub parts: Vec<GrowingPart<K>>,
    /// The time of a run on the target; `None`: it is not known how runs differ.
    pub all: Option<Estimate>,
    /// For each part.
    pub limits: Vec<Limit>,
}

impl Matrix<PartKey> {
    /// The parts that add up to the time of the runs; small ones together are the rest.
    pub fn of_parts(groups: &[Vec<&RunFacts>]) -> Matrix<PartKey> {
        let all: BTreeSet<&PartKey> = groups.iter().flatten().flat_map(|run| run.parts.keys()).collect();
        let share = |run: &RunFacts, key: &PartKey| run.parts.get(key).copied().unwrap_or(0.0) / run.seconds;
        let is_large = |key: &&PartKey| groups.iter().flatten().any(|run| share(run, key) >= SMALL);
        let rest = PartKey::of_kind(Kind::Other);
        let mut keys: Vec<PartKey> = all.into_iter().filter(is_large).filter(|key| **key != rest).cloned().collect();
        keys.push(rest);
        let row = |run: &&RunFacts| {
            let mut row: Vec<f64> = keys.iter().map(|key| run.parts.get(key).copied().unwrap_or(0.0)).collect();
            let last = row.len() - 1;
            row[last] = run.seconds - row[..last].iter().sum::<f64>();
            row
        };
        let runs = groups.iter().map(|runs| runs.iter().map(row).collect()).collect();
        let between = keys.iter().map(|key| key.kind.is_between_ranks()).collect();
        Matrix::new(keys, between, groups, runs)
    }
}

impl Matrix<String> {
    /// The regions that all runs have.
    pub fn of_regions(groups: &[Vec<&RunFacts>]) -> Matrix<String> {
        let all: BTreeSet<&String> = groups.iter().flatten().flat_map(|run| run.regions.keys()).collect();
        let in_all = |name: &&String| groups.iter().flatten().all(|run| run.regions.contains_key(*name));
        let keys: Vec<String> = all.into_iter().filter(in_all).cloned().collect();
        let row = |run: &&RunFacts| keys.iter().map(|key| run.regions[key]).collect();
        let runs = groups.iter().map(|runs| runs.iter().map(row).collect()).collect();
        let between = vec![false; keys.len()];
        Matrix::new(keys, between, groups, runs)
    }
}

impl<K> Matrix<K> {
    fn new(keys: Vec<K>, between: Vec<bool>, groups: &[Vec<&RunFacts>], runs: Vec<Vec<Vec<f64>>>) -> Matrix<K> {
        let ranks = groups.iter().map(|runs| f64::from(runs[0].ranks)).collect();
        let mean = |runs: &Vec<&RunFacts>| runs.iter().map(|run| run.seconds).sum::<f64>() / runs.len() as f64;
        Matrix { keys, between, ranks, whole: groups.iter().map(mean).collect(), runs }
    }

    fn mean(&self, level: usize, part: usize) -> f64 {
        let runs = &self.runs[level];
        runs.iter().map(|run| run[part]).sum::<f64>() / runs.len() as f64
    }

    /// True if a part says on this level how it grows and scatters.
    fn has(&self, level: usize, part: usize) -> bool {
        !self.between[part] || self.ranks[level] > 1.0
    }

    /// The residuals of runs against the mean of those on as many ranks. `None`: no number of ranks has two runs.
    fn noise(&self) -> Option<Noise> {
        let mut noise = Noise { residuals: Vec::new(), freedom: vec![0.0; self.keys.len()] };
        for (level, runs) in self.runs.iter().enumerate().filter(|(_, runs)| runs.len() > 1) {
            let means: Vec<f64> = (0..self.keys.len()).map(|part| self.mean(level, part)).collect();
            let known: Vec<bool> =
                (0..self.keys.len()).map(|part| self.has(level, part) && means[part] > 0.0).collect();
            let residual = |run: &Vec<f64>| -> Vec<f64> {
                let rests = run.iter().zip(&means).map(|(one, mean)| (one - mean) / mean);
                rests.zip(&known).map(|(rest, known)| if *known { rest } else { 0.0 }).collect()
            };
            noise.residuals.extend(runs.iter().map(residual));
            let more = (runs.len() - 1) as f64;
            noise.freedom.iter_mut().zip(&known).filter(|(_, known)| **known).for_each(|(freedom, _)| *freedom += more);
        }
        // A part of which nothing is known scatters as far as it can.
        noise.freedom.iter_mut().for_each(|freedom| *freedom = freedom.max(1.0));
        (!noise.residuals.is_empty()).then_some(noise)
    }

    /// The residuals of single runs against the laws that fit best. `None`: too few numbers of ranks.
    fn noise_of_fits(&self) -> Option<Noise> {
        if self.ranks.len() < 3 {
            return None;
        }
        let best = |part: usize| {
            let levels: Vec<usize> = (0..self.ranks.len()).filter(|&level| self.has(level, part)).collect();
            let means: Vec<f64> = levels.iter().map(|&level| self.mean(level, part)).collect();
            let errors = means.iter().zip(&levels).map(|(mean, &level)| mean.max(SMALL * self.whole[level])).collect();
            let curve = Curve { ranks: levels.iter().map(|&level| self.ranks[level]).collect(), means, errors };
            let fits = Model::all().into_iter().filter_map(|model| curve.fit(model));
            let best = fits.min_by(|one, other| one.squares.total_cmp(&other.squares));
            let mut rests = vec![0.0; self.ranks.len()];
            for (place, &level) in levels.iter().enumerate() {
                let value = best.map_or(0.0, |fit| fit.value(self.ranks[level]));
                rests[level] = (curve.means[place] - value) / curve.errors[place];
            }
            (rests, levels.len().saturating_sub(2).max(1) as f64)
        };
        let of_parts: Vec<(Vec<f64>, f64)> = (0..self.keys.len()).map(best).collect();
        let residual = |level: usize| of_parts.iter().map(|(rests, _)| rests[level]).collect();
        Some(Noise {
            residuals: (0..self.ranks.len()).map(residual).collect(),
            freedom: of_parts.iter().map(|(_, freedom)| *freedom).collect(),
        })
    }

    /// The means of a part on the numbers of ranks that say how it grows, with their levels.
    fn curve(&self, part: usize, noise: &Noise) -> (Curve, Vec<usize>) {
        let levels: Vec<usize> = (0..self.ranks.len()).filter(|&level| self.has(level, part)).collect();
        let means: Vec<f64> = levels.iter().map(|&level| self.mean(level, part)).collect();
        let deviation = noise.deviation(part);
        let error = |(&level, mean): (&usize, &f64)| {
            // Next to nothing is not known as a share of itself.
            mean.max(SMALL * self.whole[level]) * deviation / (self.runs[level].len() as f64).sqrt()
        };
        let errors = levels.iter().zip(&means).map(error).collect();
        (Curve { ranks: levels.iter().map(|&level| self.ranks[level]).collect(), means, errors }, levels)
    }
}

/// A part while draws are made.
struct Drawn {
    curve: Curve,
    levels: Vec<usize>,
    fits: Vec<Fitted>,
    misfit: f64,
    /// The places of the means by which the exponent is found.
    above: Option<Vec<usize>>,
    means: Vec<f64>,
    excess: Vec<f64>,
    exponents: Vec<f64>,
    predicted: Vec<f64>,
    predicted_excess: Vec<f64>,
    largest: usize,
}

impl Drawn {
    fn new(curve: Curve, levels: Vec<usize>, freedom: f64) -> Drawn {
        let fits = curve.fits(freedom);
        Drawn {
            misfit: curve.misfit(&fits),
            above: growth::above_noise(&curve),
            means: curve.means.clone(),
            curve,
            levels,
            fits,
            excess: Vec::with_capacity(DRAWS),
            exponents: Vec::with_capacity(DRAWS),
            predicted: Vec::with_capacity(DRAWS),
            predicted_excess: Vec::with_capacity(DRAWS),
            largest: 0,
        }
    }

    /// A law by its weight, fitted to the moved means; its value there.
    fn value(&self, p: f64, random: &mut Rng) -> f64 {
        let mut left = random.f64();
        let chosen = self.fits.iter().find(|fit| {
            left -= fit.weight;
            left <= 0.0
        });
        let Some(chosen) = chosen.or(self.fits.last()) else { return 0.0 };
        let moved =
            Curve { ranks: self.curve.ranks.clone(), means: self.means.clone(), errors: self.curve.errors.clone() };
        let model = chosen.model;
        let single = |law| moved.fit(Model { first: law, second: None });
        // A term that the moved means do not have.
        let fitted = moved.fit(model).or_else(|| {
            let both = [Some(model.first), model.second].into_iter().flatten().filter_map(single);
            both.min_by(|one, other| one.squares.total_cmp(&other.squares))
        });
        fitted.map_or(0.0, |fitted| fitted.value(p))
    }
}

impl<K: Clone> Matrix<K> {
    /// The growth of each part, and the times on so many ranks.
    pub fn simulate(&self, mode: Mode, target: f64) -> Simulated<K> {
        let known = self.noise().or_else(|| self.noise_of_fits());
        let is_known = known.is_some();
        // Without any knowledge of the noise the laws alone are weighed, as if each time were known to 1 %.
        let noise = known.unwrap_or_else(|| Noise {
            residuals: vec![vec![0.01; self.keys.len()]],
            freedom: vec![1.0; self.keys.len()],
        });
        let last = self.ranks.len() - 1;
        let mut drawn: Vec<Drawn> = (0..self.keys.len())
            .map(|part| {
                let (curve, levels) = self.curve(part, &noise);
                Drawn::new(curve, levels, noise.freedom[part])
            })
            .collect();
        let mut random = Rng::with_seed(1);
        let mut all = Vec::with_capacity(DRAWS);
        let mut moves = vec![vec![0.0; self.keys.len()]; self.ranks.len()];
        let (mut of_run, mut scales) = (vec![0.0; self.keys.len()], vec![1.0; self.keys.len()]);
        for _ in 0..DRAWS {
            noise.draw_scales(&mut random, &mut scales);
            moves.iter_mut().for_each(|moves| noise.draw(&scales, &mut random, moves));
            noise.draw(&scales, &mut random, &mut of_run);
            let mut sum = 0.0;
            let mut largest = (0, f64::NEG_INFINITY);
            for (part, one) in drawn.iter_mut().enumerate() {
                let shift = |level: usize| one.misfit * moves[level][part] / (self.runs[level].len() as f64).sqrt();
                let moved = |level: usize| self.mean(level, part) * (1.0 + shift(level));
                let (fewest, most) = (moved(0), moved(last));
                let moved = |level: usize| self.mean(level, part) * factor(shift(level));
                one.means = one.levels.iter().map(|&level| moved(level)).collect();
                let ideal = |p: f64| fewest * mode.ideal(self.ranks[0], p);
                one.excess.push(most - ideal(self.ranks[last]));
                if let Some(places) = &one.above {
                    one.exponents.push(growth::slope(&one.curve, &one.means, places));
                }
                let value = one.value(target, &mut random);
                let excess = value - ideal(target);
                one.predicted.push(value);
                one.predicted_excess.push(excess);
                sum += value * factor(of_run[part]);
                if excess > largest.1 {
                    largest = (part, excess);
                }
            }
            if let Some(one) = drawn.get_mut(largest.0) {
                one.largest += 1;
            }
            all.push(sum.max(0.0));
        }
        self.results(drawn, all, is_known, mode)
    }

    fn results(&self, drawn: Vec<Drawn>, all: Vec<f64>, is_known: bool, mode: Mode) -> Simulated<K> {
        let last = self.ranks.len() - 1;
        let interval = |draws: Vec<f64>, value: Option<f64>| {
            let found = middle(draws);
            Estimate { value: value.unwrap_or(found.value), interval: found.interval.filter(|_| is_known) }
        };
        let mut rows: Vec<(GrowingPart<K>, f64, Estimate)> = Vec::new();
        for (part, one) in drawn.into_iter().enumerate() {
            let seconds: Vec<f64> = (0..=last).map(|level| self.mean(level, part)).collect();
            let excess = seconds[last] - seconds[0] * mode.ideal(self.ranks[0], self.ranks[last]);
            let exponent = one.above.as_ref().map(|places| {
                let value = growth::slope(&one.curve, &one.curve.means, places);
                interval(one.exponents, Some(value))
            });
            let growing = GrowingPart {
                part: self.keys[part].clone(),
                seconds,
                excess_s: interval(one.excess, Some(excess)),
                growth: Growth { exponent, laws: growth::likely_laws(&one.fits, &one.curve) },
                predicted_s: is_known.then(|| interval(one.predicted, None)),
            };
            rows.push((growing, one.largest as f64 / DRAWS as f64, interval(one.predicted_excess, None)));
        }
        rows.sort_by(|one, other| other.0.excess_s.value.total_cmp(&one.0.excess_s.value));
        let limit = |(part, (_, probability, excess_s)): (usize, &(GrowingPart<K>, f64, Estimate))| Limit {
            part,
            probability: *probability,
            excess_s: *excess_s,
        };
        Simulated {
            limits: rows.iter().enumerate().map(limit).collect(),
            all: is_known.then(|| middle(all)),
            parts: rows.into_iter().map(|(part, ..)| part).collect(),
        }
    }
}

/// 1 and a relative change, on a scale of logarithms where that is below 0: no time is.
fn factor(change: f64) -> f64 {
    if change < 0.0 { change.exp() } else { 1.0 + change }
}

/// The median of draws with the shortest interval that 95 of 100 of them lie in: a law that grows much and is not
/// likely widens it upwards, not downwards.
fn middle(mut draws: Vec<f64>) -> Estimate {
    draws.sort_unstable_by(f64::total_cmp);
    let inside = (HELD * draws.len() as f64).ceil() as usize;
    let ends = draws.windows(inside.max(1)).map(|window| [window[0], window[window.len() - 1]]);
    let interval = ends.min_by(|one, other| (one[1] - one[0]).total_cmp(&(other[1] - other[0])));
    Estimate { value: mpitrace_statistics::quantile(&draws, 0.5).unwrap_or(f64::NAN), interval }
}
