//! Two sets of runs of one operation, compared as Hunold & Carpen-Amarie ask for (2016, 6.2): each run is
//! reduced to one average, and the averages of the two sides are tested, since a call of mpirun is itself a factor of
//! the experiment (section 5.2). Beside the test stand an effect size with its interval, and what needs no test:
//! whether one side is faster in the median and slower in the tail.
//!
//! Run times are in ns and finite; their readers check that.

mod alternative;
mod compared;
mod crossing;
mod detectable;
mod effect;
mod gate;
mod guideline;
mod holm;
mod needed;
mod normality;
mod permutation;
mod quantile;
mod rank_sum;
#[cfg(test)]
mod reference_tests;
mod reproducibility;
mod run;
#[cfg(test)]
mod verdict_tests;
mod welch;

pub use alternative::Alternative;
pub use compared::{Comparison, Settings, Test, Verdict, compare, measure, stars, test};
pub use crossing::{Crossing, crossing};
pub use detectable::{POWER, detectable};
pub use effect::{Effect, Relative, hodges_lehmann, relative, superiority};
pub use gate::{Decision, Gate, gate, runs_for_gate};
pub use guideline::{Guideline, Kept, guidelines};
pub use holm::holm;
pub use needed::{enough_runs, runs_needed};
pub use normality::{ShapiroWilk, q_q, shapiro_wilk};
pub use quantile::{Quantile, over_runs, quantile};
pub use rank_sum::{RankSum, rank_sum};
pub use reproducibility::{Reproducibility, reproducibility};
pub use run::Run;
pub use welch::{Welch, welch};

use crate::{CONFIDENCE, moments};

/// The level at which a test decides.
pub const SIGNIFICANCE: f64 = 0.05;

fn normal() -> statrs::distribution::Normal {
    statrs::distribution::Normal::standard()
}

/// The mean. Not a number for no values.
fn mean(values: &[f64]) -> f64 {
    moments(values).map_or(f64::NAN, |moments| moments.mean)
}

/// The variance of a sample, its divisor n - 1: 0 for equal values, whose mean may be another number by its last digit.
/// Not a number for less than two values.
fn variance(values: &[f64]) -> f64 {
    if values.len() > 1 && values.iter().all(|value| *value == values[0]) {
        return 0.0;
    }
    moments(values).and_then(|moments| moments.standard_deviation).map_or(f64::NAN, |deviation| deviation * deviation)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}
