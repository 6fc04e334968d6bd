//! One run of an operation, reduced to a few numbers.

use super::mean;
use super::quantile::{Quantile, quantile_of_sample};
use crate::{Sample, median};

/// The averages and quantiles of one run, ns.
///
/// ```
/// use mpitrace_statistics::comparison::Run;
///
/// let run = Run::new(0, &[2.0, 3.0, 7.0], &[2.0, 3.0, 7.0, 90.0]).expect("good repetitions");
/// assert_eq!((run.median_ns, run.mean_ns), (3.0, 4.0));
/// assert!(Run::new(0, &[], &[90.0]).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Its number on its side, from 0: in all operations the same.
    pub number: usize,
    /// The median of the good repetitions.
    pub median_ns: f64,
    /// Their mean.
    pub mean_ns: f64,
    /// The median of the settled repetitions: the good ones and the outliers.
    pub settled_median: Quantile,
    /// Their 95th percentile. The outliers belong to it: they are the tail.
    pub settled_p95: Quantile,
}

impl Run {
    /// A run from the run times of its good repetitions, and of its good ones and outliers. `None` where none is good.
    pub fn new(number: usize, good_ns: &[f64], settled_ns: &[f64]) -> Option<Run> {
        let settled = Sample::new(settled_ns);
        Some(Run {
            number,
            median_ns: median(&mut good_ns.to_vec())?,
            mean_ns: mean(good_ns),
            settled_median: quantile_of_sample(&settled, 0.5)?,
            settled_p95: quantile_of_sample(&settled, 0.95)?,
        })
    }
}
