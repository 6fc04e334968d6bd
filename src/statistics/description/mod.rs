//! Numbers that describe run times.
//!
//! A series in the order in which it was measured is a slice; sorted, without what is not a number, it is a [`Sample`].
//! docs/statistics.md has the formulas and where they come from; tests/reference/ the values of SciPy that they are
//! held against.

mod box_plot;
mod course;
mod density;
mod independence;
mod means;
mod metrics;
mod mode_places;
mod modes;
mod outliers;
mod periodicity;
#[cfg(test)]
mod reference_tests;
mod sample;
mod summary;

use crate::estimators::{
    Interval, Intervals, Moments, autocorrelation, block_means, cosine_powers, dependence, dependence_of_quantile,
    interval_ranks, median, median_of, moments, quantile, sort,
};

/// The level of every interval.
pub const CONFIDENCE: f64 = 0.95;

pub use {
    box_plot::BoxPlot,
    course::{BINS, Bin, Course},
    density::density,
    independence::{LjungBox, are_dependent, dependence_lasts, ljung_box},
    means::sample_means,
    metrics::{DEFAULT_WINDOW, EvenWindow, Metrics, differences},
    modes::{Mode, modes},
    outliers::{Above, Outliers, tukey_fences},
    periodicity::{Period, period},
    sample::Sample,
    summary::{Description, IntervalNs, OutlierPeriod, Quantile, Series, Summary, Wanted},
};
