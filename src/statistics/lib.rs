//! The statistics of run times: categories of repetitions, descriptions of a series, comparisons of two sets of runs,
//! models of times by message size.
//!
//! What comes in are numbers: run times in nanoseconds in the order in which they were measured, or one average for
//! each run. What goes out are numbers and verdicts on them: categories, quantiles with intervals, modes, periods,
//! effects, decisions. No trace, no clock and no MPI is known here.
//!
//! docs/statistics.md has the formulas and where they come from; tests/reference/ has the values of SciPy, NumPy and
//! statsmodels that they are held against. No thread is started for series shorter than [`parallel::LEAST`].
//!
//! ```
//! use mpitrace_statistics::categories::{Category, Rule};
//!
//! // 20 repetitions of 8 us, then 80 of 2 us.
//! let run_time_ns: Vec<f64> = (0..100).map(|i| if i < 20 { 8000.0 } else { 2000.0 + f64::from(i % 7) }).collect();
//! let repetition: Vec<u64> = (0..100).collect();
//! let found = Rule::default().apply(&repetition, &run_time_ns)?.categories;
//! assert_eq!((found.count(Category::Good), found.warmup_end), (80, Some(20)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(unreachable_pub, clippy::missing_errors_doc)]

mod base;
pub mod categories;
pub mod comparison;
mod description;
pub mod estimators;
pub mod jobs;
pub mod models;

pub use base::{names, parallel};
pub use description::{
    Above, BINS, Bin, BoxPlot, CONFIDENCE, Course, DEFAULT_WINDOW, Description, EvenWindow, IntervalNs, LjungBox,
    Metrics, Mode, OutlierPeriod, Outliers, Period, Quantile, Sample, Series, Summary, Wanted, are_dependent, density,
    dependence_lasts, differences, ljung_box, modes, period, sample_means, tukey_fences,
};
pub use estimators::distributions::normal_quantile;
pub use estimators::{
    Dependence, Interval, Intervals, Moments, autocorrelation, dependence, dependence_of_quantile, ends_of_mean,
    interval_ranks, median, median_of, moments, order_statistics, pearson, quantile, ranks, sort, spearman,
    student_quantile,
};
