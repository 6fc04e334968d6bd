//! The test of Wilcoxon, Mann and Whitney: do the runs of one side rank below those of the other?

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use statrs::distribution::ContinuousCDF;

use super::Alternative;
use crate::ranks;

/// Up to this many runs on each side the distribution is counted out, as R's `wilcox.test` does; the normal
/// approximation is good to three digits from there on.
const EXACT: usize = 49;

/// The result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankSum {
    /// U of A: the pairs of a run of A and one of B in which A took longer, ties counting half.
    pub u: f64,
    /// The probability of such a U, or of one that fits the alternative even better, where there is no difference.
    pub p: f64,
    /// True if the distribution of U was counted out. Not with ties, nor beyond 49 runs: then it is taken as normal,
    /// its variance corrected for ties, and U for being a whole number; p is no smaller than it could be without ties.
    pub exact: bool,
}

/// Tests A against B. `None` where a side has no run.
///
/// Mann and Whitney 1947 for U and the recurrence of its distribution; Hollander and Wolfe, Nonparametric Statistical
/// Methods, section 4.1, for the approximation with ties.
///
/// ```
/// use mpitrace_statistics::comparison::{Alternative, rank_sum};
///
/// let found = rank_sum(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], Alternative::Less).expect("runs on both sides");
/// assert_eq!((found.u, found.exact), (0.0, true));
/// // One of the 20 orders of six runs.
/// assert!((found.p - 0.05).abs() < 1e-12);
/// ```
pub fn rank_sum(a: &[f64], b: &[f64], alternative: Alternative) -> Option<RankSum> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (u, ties) = statistic(a, b);
    let distribution = Distribution::new(a.len(), b.len(), ties);
    let p = alternative.p(distribution.at_most(u), distribution.at_most((a.len() * b.len()) as f64 - u));
    let exact = matches!(distribution, Distribution::Exact(_));
    // Of 3 and 3 runs with ties the normal tail would promise 0.047 where no more than 0.1 can be known.
    let floor = if exact { 0.0 } else { smallest_p(a.len(), b.len(), alternative) };
    Some(RankSum { u, p: p.max(floor), exact })
}

/// The smallest p that `a` and `b` runs without ties can come to: all of one side below all of the other.
pub(super) fn smallest_p(a: usize, b: usize, alternative: Alternative) -> f64 {
    let extreme = Distribution::new(a, b, 0.0).at_most(0.0);
    alternative.p(extreme, extreme)
}

/// U of A, and the sum of t^3 - t over the groups of t equal run times.
pub(super) fn statistic(a: &[f64], b: &[f64]) -> (f64, f64) {
    let (ranks, ties) = ranks(&[a, b].concat());
    let n = a.len() as f64;
    (ranks[..a.len()].iter().sum::<f64>() - n * (n + 1.0) / 2.0, ties)
}

/// The distribution of U where there is no difference.
pub(super) enum Distribution {
    /// P(U <= u) for u = 0, 1, ...
    Exact(Arc<[f64]>),
    /// The mean and the standard deviation of the normal one.
    Normal(f64, f64),
}

impl Distribution {
    pub(super) fn new(a: usize, b: usize, ties: f64) -> Self {
        if ties == 0.0 && a.max(b) <= EXACT {
            return Distribution::Exact(counted_out(a, b));
        }
        let (pairs, n) = ((a * b) as f64, (a + b) as f64);
        let variance = pairs / 12.0 * (n + 1.0 - ties / (n * (n - 1.0)));
        Distribution::Normal(pairs / 2.0, variance.max(0.0).sqrt())
    }

    /// P(U <= u), which is P(U >= pairs - u) as well.
    pub(super) fn at_most(&self, u: f64) -> f64 {
        match self {
            Distribution::Exact(cumulative) => {
                if u < 0.0 {
                    0.0
                } else {
                    cumulative[(u as usize).min(cumulative.len() - 1)]
                }
            }
            // All run times are equal: U can be nothing else.
            Distribution::Normal(_, 0.0) => 1.0,
            Distribution::Normal(mean, deviation) => super::normal().cdf((u - mean + 0.5) / deviation),
        }
    }
}

/// The distributions that were counted out already: the operations of two sides mostly have as many runs each, and 49
/// runs take some million additions.
static COUNTED_OUT: LazyLock<Mutex<CountedOut>> = LazyLock::new(Mutex::default);
/// By the numbers of runs.
type CountedOut = HashMap<(usize, usize), Arc<[f64]>>;

fn counted_out(a: usize, b: usize) -> Arc<[f64]> {
    let mut known = COUNTED_OUT.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(known.entry((a, b)).or_insert_with(|| cumulative(a, b).into()))
}

/// P(U <= u) for u = 0 .. a b. The number of ways to reach u with a and b runs is that with a - 1 and b runs to reach
/// u - b (the largest is of A) and that with a and b - 1 runs to reach u (the largest is of B).
fn cumulative(a: usize, b: usize) -> Vec<f64> {
    // ways[i]: those of i runs of A and as many of B as the loop has come to.
    let mut ways: Vec<Vec<f64>> = vec![vec![1.0]; a + 1];
    for of_b in 1..=b {
        for of_a in 1..=a {
            let mut next = vec![0.0; of_a * of_b + 1];
            for (u, &ways) in ways[of_a].iter().enumerate() {
                next[u] += ways;
            }
            for (u, &ways) in ways[of_a - 1].iter().enumerate() {
                next[u + of_b] += ways;
            }
            ways[of_a] = next;
        }
    }
    let ways = &ways[a];
    let total: f64 = ways.iter().sum();
    let mut sum = 0.0;
    ways.iter()
        .map(|ways| {
            sum += ways;
            sum / total
        })
        .collect()
}
