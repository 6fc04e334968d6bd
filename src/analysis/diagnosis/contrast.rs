//! Does a metric differ between repetitions by more than it does between any others?
//!
//! The repetitions are given weights c_t: those of a group against those that it is compared with. The statistic is the
//! sum of c_t and the metric, both whitened by the metric's own model ([`super::whiten`]), over its standard deviation.
//! It is held against two distributions: the normal one, and that of the same weights shifted along the series, its end
//! joined to its start (Lotwick and Silverman 1982). A shift keeps all that the two series have of their own, whatever
//! it is, and takes away what they have in common (Harris 2020). The larger of the two p-values counts.

use mpitrace_statistics::median;
use statrs::distribution::{ContinuousCDF, Normal};

use super::whiten::{Model, without_trend};

/// Shifts that are tried, ...
const SHIFTS: usize = 399;
/// ... and fewer of a long series, of which so many products are added up.
const PRODUCTS: usize = 100_000_000;
/// With fewer nothing is known.
const FEWEST: usize = 19;
/// A shift by which the weights still look like themselves is none: of a period, or of a block by a little.
const ALIKE: f64 = 0.5;

/// Weights of all repetitions; they add up to 0.
#[derive(Clone, Debug)]
pub(super) struct Contrast {
    weights: Vec<f64>,
    /// Which repetitions share a mean: those of the group, those that they are compared with, and the others.
    part: Vec<u8>,
    stretch: usize,
    /// `None` for a shift that leaves the weights alike.
    shifts: Vec<Option<u32>>,
}

/// The statistics of a metric under a contrast.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contrasted {
    /// In standard deviations.
    pub(super) z: f64,
    /// The statistic for each shift, in standard deviations; not a number where the weights are alike.
    pub(super) shifted: Vec<f32>,
    /// The transposed innovations of the metric: a sum of weights and these is the statistic.
    pub(super) products: Vec<f32>,
    pub(super) scores: Vec<f32>,
}

impl Contrast {
    /// The contrast of the repetitions `rows` of all `count`: where `member` is true against the others. `stretch`
    /// repetitions follow one another, then the next stretch begins.
    pub(super) fn of_group(count: usize, stretch: usize, rows: &[u32], member: &[bool]) -> Contrast {
        let members = member.iter().filter(|member| **member).count() as f64;
        let others = member.len() as f64 - members;
        let (mut weights, mut part) = (vec![0.0; count], vec![0; count]);
        for (&row, &member) in rows.iter().zip(member) {
            weights[row as usize] = if member { 1.0 / members } else { -1.0 / others };
            part[row as usize] = if member { 1 } else { 2 };
        }
        let n = weights.len();
        let tried = SHIFTS.min(PRODUCTS / n.max(1)).min(n.saturating_sub(1)).max(FEWEST.min(n.saturating_sub(1)));
        let square: f64 = weights.iter().map(|weight| weight * weight).sum();
        let shifts = (1..=tried).map(|number| (number * n / (tried + 1)).max(1) as u32);
        let differs = |shift: &u32| product(&weights, &weights, *shift as usize).abs() < ALIKE * square;
        let shifts = shifts.map(|shift| Some(shift).filter(differs)).collect();
        Contrast { weights, part, stretch, shifts }
    }

    /// Holds the scores of a metric against it. `None` where the metric is constant, or there are too few repetitions.
    pub(super) fn contrasted(&self, scores: &[f64]) -> Option<Contrasted> {
        let is_constant = scores.iter().all(|score| *score == 0.0);
        if is_constant || self.shifts.iter().flatten().count() < FEWEST {
            return None;
        }
        let mut flat = scores.to_vec();
        without_trend(&mut flat);
        let model = Model::fitted(&self.without_means(&flat), self.stretch);
        let new = model.innovations(&flat);
        let products = model.transposed(&new);
        // Of the innovations about the means of the parts: an effect is no noise.
        let noise = model.innovations(&self.without_means(&flat));
        let variance = noise.iter().map(|e| e * e).sum::<f64>() / noise.len() as f64;
        let filtered: f64 = model.innovations(&self.weights).iter().map(|weight| weight * weight).sum();
        let stated = (variance * filtered).sqrt();
        let shifted = self.shifted(&self.weights, &products);
        let deviation = stated.max(deviation(&self.shifted(&self.weights, &model.transposed(&noise)))?);
        if deviation <= 0.0 || deviation.is_nan() {
            return None;
        }
        Some(Contrasted {
            z: product(&self.weights, &products, 0) / deviation,
            shifted: shifted.iter().map(|statistic| (statistic / deviation) as f32).collect(),
            products: products.iter().map(|&value| value as f32).collect(),
            scores: scores.iter().map(|&value| value as f32).collect(),
        })
    }

    /// The contrast with some members of the group left out: the statistic over the standard deviation of its shifts.
    pub(super) fn of_remaining(&self, found: &Contrasted, left_out: &[bool]) -> Option<f64> {
        let remaining = |row: usize| self.part[row] == 1 && !left_out[row];
        let members = (0..self.part.len()).filter(|&row| remaining(row)).count() as f64;
        let others = self.part.iter().filter(|part| **part == 2).count() as f64;
        let weights: Vec<f64> = (0..self.part.len())
            .map(|row| match self.part[row] {
                1 if !left_out[row] => 1.0 / members,
                2 => -1.0 / others,
                _ => 0.0,
            })
            .collect();
        let products: Vec<f64> = found.products.iter().map(|&value| f64::from(value)).collect();
        let mut shifted = self.shifted(&weights, &products);
        shifted.retain(|statistic| !statistic.is_nan());
        let squares = shifted.iter().map(|statistic| statistic * statistic).sum::<f64>() / shifted.len() as f64;
        (members >= 2.0 && squares > 0.0).then(|| product(&weights, &products, 0) / squares.sqrt())
    }

    fn shifted(&self, weights: &[f64], products: &[f64]) -> Vec<f64> {
        let statistic =
            |shift: &Option<u32>| shift.map_or(f64::NAN, |shift| product(weights, products, shift as usize));
        self.shifts.iter().map(statistic).collect()
    }

    fn without_means(&self, values: &[f64]) -> Vec<f64> {
        let (mut sums, mut counts) = ([0.0; 3], [0.0; 3]);
        for (value, part) in values.iter().zip(&self.part) {
            sums[*part as usize] += value;
            counts[*part as usize] += 1.0;
        }
        values
            .iter()
            .zip(&self.part)
            .map(|(value, part)| value - sums[*part as usize] / counts[*part as usize])
            .collect()
    }
}

/// Sum c_t x_(t + shift), the end of the series joined to its start.
fn product(weights: &[f64], values: &[f64], shift: usize) -> f64 {
    let (start, end) = values.split_at(shift);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(weights, end) + dot(&weights[end.len()..], start)
}

/// The standard deviation of normal values around 0, by the quarter that is nearest to it: an effect that shows at many
/// shifts does not reach these.
fn deviation(values: &[f64]) -> Option<f64> {
    let mut distances: Vec<f64> = values.iter().map(|value| value.abs()).filter(|value| !value.is_nan()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    let half = distances.len().div_ceil(2);
    Some(median(&mut distances[..half])? / 0.318_639_363_964_375)
}

/// P of a normal variable as far from 0, or as far above.
pub(super) fn normal_tail(z: f64, two_sided: bool) -> f64 {
    if two_sided { 2.0 * Normal::standard().sf(z.abs()) } else { Normal::standard().sf(z) }
}
