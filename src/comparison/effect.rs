//! How large a difference is, whatever a test says of its being real.

use statrs::distribution::ContinuousCDF;

use super::rank_sum::{Distribution, statistic};
use super::{CONFIDENCE, normal};
use crate::statistics::median;

/// How much longer B takes than A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// ns.
    pub shift_ns: f64,
    /// Its 95 % interval, ns. `None` where there are too few runs for one.
    pub interval_ns: Option<[f64; 2]>,
}

/// The shift of Hodges and Lehmann: the median of the differences between a run of B and one of A, over all pairs. Its
/// interval holds the shifts that the two-sided rank-sum test does not reject (Hollander and Wolfe, sections 4.2 and 4.3), so
/// it leaves 0 out where that test does; equal run times make it no narrower. `None` where a side has no run.
pub fn hodges_lehmann(a: &[f64], b: &[f64]) -> Option<Effect> {
    let mut differences: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect();
    let shift_ns = median(&mut differences)?;
    let outside = outside(&Distribution::new(a.len(), b.len(), 0.0));
    let interval_ns = (outside > 0).then(|| {
        differences.sort_unstable_by(f64::total_cmp);
        [differences[outside - 1], differences[differences.len() - outside]]
    });
    Some(Effect { shift_ns, interval_ns })
}

/// The largest k with P(U <= k - 1) <= 0.025: the interval reaches from the k-th smallest to the k-th largest difference.
fn outside(distribution: &Distribution) -> usize {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    match distribution {
        Distribution::Exact(cumulative) => cumulative.iter().take_while(|&&p| p <= tail).count(),
        Distribution::Normal(mean, deviation) => {
            (mean + deviation * normal().inverse_cdf(tail) + 0.5).max(0.0) as usize
        }
    }
}

/// The probability that a run of A is faster than one of B, ties counting half: Vargha and Delaney's A, 0.5 for no
/// difference. Not a number where a side has no run.
pub fn superiority(a: &[f64], b: &[f64]) -> f64 {
    1.0 - statistic(a, b).0 / (a.len() * b.len()) as f64
}
