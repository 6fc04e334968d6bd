//! How large a difference is, whatever a test says of its being real.

use statrs::distribution::ContinuousCDF;

use super::normal;
use super::rank_sum::{Distribution, statistic};
use crate::median;

/// How much longer B takes than A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// ns.
    pub shift_ns: f64,
    /// Its interval, of 95 % for all operations together, ns. `None` where there are too few runs for one.
    pub interval_ns: Option<[f64; 2]>,
}

/// How much longer B takes, as a share of what A takes: 0.1 for a tenth, never below -1, since it is computed on
/// logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relative {
    /// B over A, less 1.
    pub share: f64,
    /// Its interval, of 95 % for all operations together. `None` where there are too few runs for one.
    pub interval: Option<[f64; 2]>,
}

/// The shift of Hodges and Lehmann: the median of the differences between a run of B and one of A, over all pairs. Its
/// interval holds the shifts that the two-sided rank-sum test does not reject (Hollander and Wolfe, sections 4.2 and
/// 4.3), so it leaves 0 out where that test does; equal run times make it no narrower. `None` where a side has no run.
///
/// ```
/// use mpitrace_statistics::comparison::hodges_lehmann;
///
/// let (a, b) = ([10.0, 11.0, 12.0], [20.0, 21.0, 22.0]);
/// assert_eq!(hodges_lehmann(&a, &b, 0.95).map(|effect| effect.shift_ns), Some(10.0));
/// assert!(hodges_lehmann(&[], &b, 0.95).is_none());
/// ```
pub fn hodges_lehmann(a: &[f64], b: &[f64], confidence: f64) -> Option<Effect> {
    let mut differences: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| b - a)).collect();
    let shift_ns = median(&mut differences)?;
    let outside = outside(&Distribution::new(a.len(), b.len(), 0.0), (1.0 - confidence) / 2.0);
    let interval_ns = (outside > 0).then(|| {
        differences.sort_unstable_by(f64::total_cmp);
        [differences[outside - 1], differences[differences.len() - outside]]
    });
    Some(Effect { shift_ns, interval_ns })
}

/// The shift of Hodges and Lehmann between the logarithms, so the median of the ratios of a run of B and one of A,
/// less one. Ranks know nothing of logarithms: the interval belongs to the test as that of the shift does. A single run
/// a thousand times as long as its fellows makes no interval reach below -100 %. `None` where a side has no run, or a
/// run time of 0 or less.
///
/// ```
/// use mpitrace_statistics::comparison::relative;
///
/// let share = relative(&[1e3; 8], &[1.1e3; 8], 0.95).expect("runs on both sides").share;
/// assert!((share - 0.1).abs() < 1e-9);
/// assert!(relative(&[0.0], &[1.0], 0.95).is_none());
/// ```
pub fn relative(a: &[f64], b: &[f64], confidence: f64) -> Option<Relative> {
    let [a, b] = both_logarithms(a, b)?;
    let effect = hodges_lehmann(&a, &b, confidence)?;
    Some(Relative { share: effect.shift_ns.exp_m1(), interval: effect.interval_ns.map(|ends| ends.map(f64::exp_m1)) })
}

/// The logarithms of the run times of both sides, ns. `None` where one is 0 or less.
pub(super) fn both_logarithms(a: &[f64], b: &[f64]) -> Option<[Vec<f64>; 2]> {
    let of = |runs: &[f64]| -> Option<Vec<f64>> {
        runs.iter().map(|&run_time| (run_time > 0.0).then(|| run_time.ln())).collect()
    };
    Some([of(a)?, of(b)?])
}

/// The largest k with P(U <= k - 1) <= `tail`: the interval reaches from the k-th smallest to the k-th largest
/// difference.
fn outside(distribution: &Distribution, tail: f64) -> usize {
    match distribution {
        Distribution::Exact(cumulative) => cumulative.iter().take_while(|&&p| p <= tail).count(),
        Distribution::Normal(mean, deviation) => {
            (mean + deviation * normal().inverse_cdf(tail) + 0.5).max(0.0) as usize
        }
    }
}

/// The probability that a run of A is faster than one of B, ties counting half: Vargha and Delaney's A, 0.5 for no
/// difference. Not a number where a side has no run.
///
/// ```
/// use mpitrace_statistics::comparison::superiority;
///
/// assert_eq!(superiority(&[1.0, 2.0], &[3.0, 4.0]), 1.0);
/// assert_eq!(superiority(&[1.0, 2.0], &[1.0, 2.0]), 0.5);
/// ```
pub fn superiority(a: &[f64], b: &[f64]) -> f64 {
    1.0 - statistic(a, b).0 / (a.len() * b.len()) as f64
}
