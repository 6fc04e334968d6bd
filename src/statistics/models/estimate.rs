//! The median of times, with what is needed to compute with it.

use serde::Serialize;

use crate::{CONFIDENCE, Intervals, Sample, normal_quantile};

/// A value with its interval; the unit is that of the value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its 95 % interval; `None`: there are too few independent values for one.
    pub interval: Option<[f64; 2]>,
}

impl Estimate {
    /// A value whose error has this standard deviation; `None`: it is not known.
    pub(super) fn new(value: f64, error: Option<f64>) -> Estimate {
        let half = error.map(|error| two_sided() * error);
        Estimate { value, interval: half.map(|half| [value - half, value + half]) }
    }

    /// The standard error that an interval of this width stands for: half of it by the normal quantile.
    pub(super) fn error(&self) -> Option<f64> {
        self.interval.map(|[lower, upper]| (upper - lower) / (2.0 * two_sided()))
    }
}

/// The normal quantile of the two-sided level.
fn two_sided() -> f64 {
    normal_quantile(f64::midpoint(1.0, CONFIDENCE))
}

/// The median of times in ns, in the order in which they were measured, with its interval, which allows for times that
/// depend on each other ([`Intervals::quantile`]) and reaches half a step of the clock on either side at least. `None`
/// for no finite time.
///
/// ```
/// use mpitrace_statistics::models::centre;
///
/// let ns: Vec<f64> = (0..101).map(|i| 1000.0 + f64::from(i * 7919 % 101)).collect();
/// let found = centre(&ns).expect("times");
/// assert_eq!(found.value, 1050.0);
/// assert!(found.interval.is_some_and(|[lower, upper]| lower > 1020.0 && upper < 1080.0));
/// assert!(centre(&[5.0]).is_some_and(|found| found.interval.is_none()));
/// ```
pub fn centre(times_ns: &[f64]) -> Option<Estimate> {
    let finite: Vec<f64> = times_ns.iter().copied().filter(|time| time.is_finite()).collect();
    let sample = Sample::new(&finite);
    let interval = Intervals::new(&finite, sample.sorted(), CONFIDENCE).quantile(0.5);
    let value = sample.median()?;
    let half = sample.step().map_or(0.0, |step| step / 2.0);
    let ends = interval.map(|interval| [interval.lower.min(value - half), interval.upper.max(value + half)]);
    Some(Estimate { value, interval: ends })
}
