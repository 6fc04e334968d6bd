//! The result for an operation.

use mpitrace_analysis::causes::Causes;
use mpitrace_analysis::diagnosis::Diagnosis;
use mpitrace_statistics::categories::{Categories, Remarks};
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::description::Description;
use serde::Serialize;

use super::correlations::Correlation;
use super::findings::Found;
use super::samples;
use super::switch::Switch;

/// An operation with what is wrong with it, by the keys of JSON.
#[derive(Serialize)]
pub struct Diagnosed<'s> {
    #[serde(flatten)]
    pub description: &'s Description,
    pub method: &'static str,
    pub time: RunTime,
    pub warmup_end: Option<u64>,
    #[serde(flatten)]
    pub remarks: Remarks,
    /// Repetitions left out, lines skipped.
    pub notes: &'s [String],
    pub sentences: Vec<String>,
    /// Evidence that might show a cause, and was not recorded.
    pub not_recorded: Vec<&'static str>,
    /// In how many of the repetitions counters and timers were looked at; `None` where there are none, or no group.
    pub sampled_repetitions: Option<usize>,
    #[serde(flatten)]
    pub causes: Causes,
    #[serde(rename = "algorithm_switch")]
    pub switch: Option<Switch>,
    /// The counters and timers that differ.
    pub findings: Vec<Found>,
    /// The code that runs in the groups and not in the others, where the run has samples.
    pub hot: Vec<samples::Hot>,
    /// Samples a second of processor time; `None`: the run has none.
    #[serde(skip)]
    pub sample_rate: Option<f64>,
    /// Of all counters and timers with the run time; for JSON alone.
    pub correlations: Vec<Correlation>,
    /// The time of all repetitions, ns: the order of the operations in the text.
    #[serde(skip)]
    pub all_ns: f64,
    #[serde(skip)]
    pub categories: Categories,
    #[serde(skip)]
    pub diagnosis: Diagnosis,
}
