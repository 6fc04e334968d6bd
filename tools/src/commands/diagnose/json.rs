//! All that was found, for programs.

use mpitrace::causes::{Cause, GroupTime};
use serde::Serialize;

use super::samples::Hot;
use super::switch::Switch;
use super::{Diagnosed, words};
use crate::source::Description;
use mpitrace::categories::Remarks;

/// An operation.
#[derive(Serialize)]
pub struct Operation<'d> {
    #[serde(flatten)]
    description: &'d Description,
    method: &'static str,
    time: &'static str,
    warmup_end: Option<u64>,
    #[serde(flatten)]
    remarks: Remarks,
    /// Notes: repetitions left out, lines skipped.
    notes: &'d [String],
    sentences: Vec<String>,
    /// In how many of the repetitions counters and timers were looked at; `None` where there are none.
    sampled_repetitions: Option<usize>,
    /// The most time first.
    causes: &'d [Cause],
    /// The time of the groups that causes are of.
    times: &'d [GroupTime],
    /// The algorithms of the MPI library, where it took several.
    algorithm_switch: Option<&'d Switch>,
    /// The code that runs in the groups and not in the others, where the run has samples.
    hot: &'d [Hot],
}

impl<'d> Operation<'d> {
    pub fn new(diagnosed: &'d Diagnosed<'_>) -> Self {
        Operation {
            description: diagnosed.description,
            method: diagnosed.rule.name(),
            time: diagnosed.time.name(),
            warmup_end: diagnosed.categories.warmup_end,
            remarks: diagnosed.remarks,
            notes: diagnosed.notes,
            sampled_repetitions: words::looked_at(diagnosed),
            sentences: words::sentences(diagnosed),
            causes: &diagnosed.causes.causes,
            times: &diagnosed.causes.groups,
            algorithm_switch: diagnosed.switch.as_ref(),
            hot: &diagnosed.hot,
        }
    }
}
