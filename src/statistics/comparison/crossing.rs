//! Faster in the middle, slower in the tail: where no single number tells which side is better.

use std::cmp::Ordering;

use super::{Quantile, Run, over_runs};

/// How the two sides lie in the median and in the 95th percentile, outliers included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The runs of the side that has fewer.
    pub runs: usize,
    /// The medians of A and B.
    pub median: [Quantile; 2],
    /// Their 95th percentiles.
    pub p95: [Quantile; 2],
}

/// From this many runs a side on equal sides cross in 1 to 2 % of cases, from three on in next to none.
const FEWEST_RUNS: usize = 2;

/// Looks at the two sides. `None` where one has no runs.
///
/// ```
/// use mpitrace_statistics::comparison::{Run, crossing};
///
/// // A is faster in the median, and one of ten of its repetitions is slow.
/// let a: Vec<f64> = (0..200).map(|i| if i % 10 == 0 { 5e3 } else { 1e3 + f64::from(i % 7) }).collect();
/// let b: Vec<f64> = (0..200).map(|i| 2e3 + f64::from(i % 7)).collect();
/// let side = |ns: &[f64]| (0..3).filter_map(|run| Run::new(run, ns, ns)).collect::<Vec<Run>>();
/// let found = crossing(&side(&a), &side(&b)).expect("runs on both sides");
/// assert_eq!((found.runs, found.crosses()), (3, Some(true)));
/// assert!(found.p95[0].value_ns > found.p95[1].value_ns);
/// ```
pub fn crossing(a: &[Run], b: &[Run]) -> Option<Crossing> {
    let of = |runs: &[Run], of_run: fn(&Run) -> Quantile| over_runs(&runs.iter().map(of_run).collect::<Vec<_>>());
    Some(Crossing {
        runs: a.len().min(b.len()),
        median: [of(a, |run| run.settled_median)?, of(b, |run| run.settled_median)?],
        p95: [of(a, |run| run.settled_p95)?, of(b, |run| run.settled_p95)?],
    })
}

impl Crossing {
    /// True if the medians and the 95th percentiles differ in opposite directions, the intervals of both being
    /// disjoint. `None` where an interval does not exist (the 95th percentile of a run has one from 72 repetitions on),
    /// and where a side has one run only: how often a slow mode occurs differs from run to run, so that two equal sides
    /// of one run each would cross in nearly every second case.
    pub fn crosses(&self) -> Option<bool> {
        self.seems_to_cross().filter(|_| self.runs >= FEWEST_RUNS)
    }

    /// [`Crossing::crosses`], however few runs there are: one run on each side shows what to look at with more.
    pub(crate) fn seems_to_cross(&self) -> Option<bool> {
        let [median, p95] = [order(&self.median)?, order(&self.p95)?];
        Some(median.zip(p95).is_some_and(|(median, p95)| median != p95))
    }
}

/// How A lies to B by intervals that do not meet; the inner `None`: they meet.
fn order([a, b]: &[Quantile; 2]) -> Option<Option<Ordering>> {
    let ([a_low, a_high], [b_low, b_high]) = (a.interval_ns?, b.interval_ns?);
    let below = (a_high < b_low).then_some(Ordering::Less);
    Some(below.or_else(|| (b_high < a_low).then_some(Ordering::Greater)))
}
