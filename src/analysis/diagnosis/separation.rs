//! How well does a metric tell the repetitions of a group from those that they are compared with?

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::gamma::ln_gamma;

use super::dependence;
use super::ranks::mid_ranks;
use crate::statistics::median;

/// What a metric is in a group, and in the repetitions that the group is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separation {
    /// Repetitions of the group that have a value.
    pub count: usize,
    /// Those that they are compared with.
    pub others: usize,
    /// The median in the group.
    pub median: f64,
    /// The median in the others.
    pub median_others: f64,
    /// The share of the group in which the metric is above 0...
    pub above_zero: f64,
    /// ... and of the others.
    pub above_zero_others: f64,
    /// The probability that a repetition of the group has the larger value of a pair, ties counting half: the area
    /// under the ROC curve, and U / (n m) of Mann and Whitney (1947).
    pub auc: f64,
    /// Cliff's delta (1993), 2 AUC - 1: -1 and 1 where the two do not overlap, 0 where nothing is told.
    pub delta: f64,
    /// The probability of such an AUC, or one further from a half, where there is no difference: two-sided, U taken as
    /// normal, corrected for ties and for the memory of the metric (see the module `dependence`), and for U being a
    /// whole number; no smaller than what so few repetitions can come to.
    pub p: f64,
    /// The correction for the memory: as many repetitions count as one.
    pub inflation: f64,
}

/// Compares the values at which `member` is true with the others. `None` where there are none of either.
pub(super) fn separation(values: &[f64], member: &[bool], repetition: &[u64]) -> Option<Separation> {
    let count = member.iter().filter(|member| **member).count();
    let others = member.len() - count;
    if count == 0 || others == 0 {
        return None;
    }
    let (ranks, ties) = mid_ranks(values);
    let rho = dependence::memory(&ranks, repetition, |at| !member[at]);
    let (n, m) = (count as f64, others as f64);
    let mean = n / (n + m);
    let weights: Vec<f64> = member.iter().map(|&member| f64::from(u8::from(member)) - mean).collect();
    let inflation = dependence::inflation(&weights, repetition, rho);
    let sum: f64 = ranks.iter().zip(member).filter(|(_, member)| **member).map(|(rank, _)| rank).sum();
    let u = sum - n * (n + 1.0) / 2.0;
    let auc = u / (n * m);
    let side = |wanted: bool| {
        let side = values.iter().zip(member).filter(move |(_, member)| **member == wanted);
        let mut side: Vec<f64> = side.map(|(value, _)| *value).collect();
        let above = side.iter().filter(|value| **value > 0.0).count() as f64 / side.len() as f64;
        (median(&mut side).unwrap_or(f64::NAN), above)
    };
    let ((median, above_zero), (median_others, above_zero_others)) = (side(true), side(false));
    Some(Separation {
        count,
        others,
        median,
        median_others,
        above_zero,
        above_zero_others,
        auc,
        delta: 2.0 * auc - 1.0,
        p: probability(u, n, m, ties, inflation),
        inflation,
    })
}

/// P of a U this far from its mean (Hollander and Wolfe, Nonparametric Statistical Methods, section 4.1).
fn probability(u: f64, n: f64, m: f64, ties: f64, inflation: f64) -> f64 {
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    if variance <= 0.0 {
        return 1.0;
    }
    let z = distance / (variance * inflation).sqrt();
    let tail = Normal::standard().sf(z);
    (2.0 * tail).max(smallest_p(n, m)).min(1.0)
}

/// What n repetitions against m can come to at least: both extremes of all ways to choose the n, were they independent.
pub(super) fn smallest_p(n: f64, m: f64) -> f64 {
    2.0 * (ln_gamma(n + 1.0) + ln_gamma(m + 1.0) - ln_gamma(n + m + 1.0)).exp()
}
