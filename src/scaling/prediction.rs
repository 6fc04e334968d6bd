//! The time on a number of ranks that was not run, and the part that limits it there.

use mpitrace_statistics::models::Estimate;
use serde::Serialize;

/// The prediction for a number of ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The ranks.
    pub ranks: u32,
    /// The time of a run, s; 95 of 100 runs are to lie in the interval.
    pub seconds: Estimate,
    /// Against the smallest number of ranks, as of [`crate::Level`].
    pub speedup: Estimate,
    /// The ideal time over this one.
    pub efficiency: Estimate,
    /// The parts that may take most beyond the ideal, the likeliest first.
    pub limits: Vec<Limit>,
}

/// A part that may take most beyond the ideal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Its place among the parts.
    pub part: usize,
    /// The probability that it does.
    pub probability: f64,
    /// How much it takes beyond the ideal, s.
    pub excess_s: Estimate,
}
