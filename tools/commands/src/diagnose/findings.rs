//! The counters and timers that differ between slow repetitions and others, by the keys of JSON.

use mpitrace_analysis::diagnosis::{Diagnosis, Finding};
use serde::Serialize;

/// A counter or timer that differs significantly.
#[derive(Debug, Serialize)]
pub struct Found {
    counter: String,
    unit: String,
    /// `null`: the sum over all ranks.
    rank: Option<u32>,
    group: &'static str,
    /// The run time of a mode, ns.
    peak_ns: Option<f64>,
    /// The median run time of those that the group is compared with, ns.
    run_others_ns: f64,
    median: f64,
    median_others: f64,
    /// The shares of the repetitions in which it is above 0.
    above_zero: f64,
    above_zero_others: f64,
    /// The share of the pairs of a slow repetition and another one that differ in the direction of most.
    pairs: f64,
    /// The share of the extra time; `null`: not known.
    share: Option<f64>,
    p: f64,
}

/// The findings of a diagnosis, in the order of their sentences.
pub fn found(diagnosis: &Diagnosis) -> Vec<Found> {
    let of_finding = |finding: &Finding| {
        let (examined, group) = (&diagnosis.metrics[finding.metric], &diagnosis.groups[finding.group]);
        let separated = examined.separations[finding.group].as_ref()?;
        let found = &separated.separation;
        Some(Found {
            counter: examined.metric.name.clone(),
            unit: examined.metric.unit.clone(),
            rank: examined.metric.rank,
            group: group.kind.name(),
            peak_ns: group.kind.peak_ns(),
            run_others_ns: group.median_others_ns,
            median: found.median,
            median_others: found.median_others,
            above_zero: found.above_zero,
            above_zero_others: found.above_zero_others,
            pairs: f64::midpoint(1.0, found.delta.abs()),
            share: separated.explained,
            p: separated.p_corrected,
        })
    };
    diagnosis.findings.iter().filter_map(of_finding).collect()
}
