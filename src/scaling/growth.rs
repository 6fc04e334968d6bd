//! By which law a part grows with the number of ranks.

use mpitrace_statistics::models::Estimate;
use mpitrace_statistics::names::Named;
use serde::Serialize;

use crate::fit::{Curve, Fitted};
use crate::law::Law;

/// How a time grows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Growth {
    /// The time grows as p to this power, over the numbers of ranks that there are; `None`: it is not above its noise
    /// on two of them.
    pub exponent: Option<Estimate>,
    /// The laws of the term that grows most, the likeliest first; unlikely ones are left out.
    pub laws: Vec<LawShare>,
}

/// A law, and how likely it is among all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LawShare {
    /// The law.
    pub law: Law,
    /// Its share, 0 to 1.
    pub share: f64,
}

/// A part of the time, the mean over the ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GrowingPart<K> {
    /// Its subject.
    pub part: K,
    /// The mean of the runs on each number of ranks, s.
    pub seconds: Vec<f64>,
    /// The time beyond the ideal on the most ranks, s: beyond what it takes on the fewest ranks, shared out as the
    /// work.
    pub excess_s: Estimate,
    /// How it grows.
    #[serde(flatten)]
    pub growth: Growth,
    /// The time on the predicted number of ranks, in the mean of runs, s; `None`: nothing is predicted.
    pub predicted_s: Option<Estimate>,
}

/// Less likely laws are left out.
const LIKELY: f64 = 0.05;
/// A mean is above its noise by so many standard errors.
const ABOVE: f64 = 4.0;

/// A term that is a smaller share of the time on the most ranks is not the one that counts.
const COUNTS: f64 = 0.1;

/// The term of a fit that grows most, if it counts on so many ranks.
fn leading(fit: &Fitted, most: f64) -> Law {
    let [_, second] = fit.coefficients;
    let counts = |law: &Law| second * law.value(most) >= COUNTS * fit.value(most);
    fit.model.second.filter(counts).unwrap_or(fit.model.first)
}

/// The likely laws among the fits of a curve; none of one with a single number of ranks.
pub(crate) fn likely_laws(fits: &[Fitted], curve: &Curve) -> Vec<LawShare> {
    let [_, .., most] = curve.ranks[..] else { return Vec::new() };
    let share = |law: Law| fits.iter().filter(|fit| leading(fit, most) == law).map(|fit| fit.weight).sum::<f64>();
    let mut laws: Vec<LawShare> = Law::VALUES.iter().map(|&law| LawShare { law, share: share(law) }).collect();
    laws.retain(|of| of.share >= LIKELY);
    laws.sort_by(|one, other| other.share.total_cmp(&one.share));
    laws
}

/// The places of the means that are above their noise, if there are two.
pub(crate) fn above_noise(curve: &Curve) -> Option<Vec<usize>> {
    let places: Vec<usize> = (0..curve.ranks.len()).filter(|&at| curve.means[at] > ABOVE * curve.errors[at]).collect();
    (places.len() > 1).then_some(places)
}

/// The slope of a line through the logarithms of these means, by least squares with the weights of their errors.
pub(crate) fn slope(curve: &Curve, means: &[f64], places: &[usize]) -> f64 {
    let point = |&at: &usize| {
        // The error of a logarithm is that of the value over the value.
        let weight = (curve.means[at] / curve.errors[at]).powi(2);
        (curve.ranks[at].ln(), means[at].max(f64::MIN_POSITIVE).ln(), weight)
    };
    let points: Vec<(f64, f64, f64)> = places.iter().map(point).collect();
    let all: f64 = points.iter().map(|(.., weight)| weight).sum();
    let mean = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|&(x, y, weight)| weight * of(x, y)).sum::<f64>() / all;
    let (x, y) = (mean(&|x, _| x), mean(&|_, y| y));
    mean(&|at, value| (at - x) * (value - y)) / mean(&|at, _| (at - x).powi(2))
}
