//! An operation with its repetitions sorted into categories.

use anyhow::{Context, Result};
use mpitrace_statistics::categories::{Remarks, Rule, RuleFindings};
use mpitrace_trace::calls::algorithms::Repetitions;
use mpitrace_trace::run_time::RunTime;
use mpitrace_words::description::Description;
use serde::{Serialize, Serializer};

use super::{RunTimes, Source, own_work_text};

/// An operation's categories, by the keys of JSON.
#[derive(Debug, Serialize)]
pub struct Categorized<'a> {
    /// The operation.
    #[serde(flatten)]
    pub operation: &'a Description,
    method: &'static str,
    time: RunTime,
    first_repetition: Option<u64>,
    /// The categories, and the levels of the run time where the rule finds them.
    #[serde(flatten)]
    pub found: RuleFindings,
    #[serde(flatten)]
    remarks: Remarks,
    /// The share of the run times of a non-blocking operation in which the program itself computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_work: Option<f64>,
    /// The numbers of the repetitions.
    pub repetition: Vec<u64>,
    /// The run time of each, ns.
    pub run_time_ns: Vec<f64>,
    /// The algorithm of each repetition; not there where none is seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithms>,
}

/// The name of each repetition's algorithm, each name kept once. JSON has one for each repetition.
#[derive(Debug)]
pub struct Algorithms {
    names: Vec<Option<String>>,
    repetitions: Repetitions,
}

impl Algorithms {
    fn new(repetitions: Repetitions) -> Algorithms {
        let name = |algorithm: &Option<_>| algorithm.as_ref().map(ToString::to_string);
        Algorithms { names: repetitions.occurring().iter().map(name).collect(), repetitions }
    }

    /// The name of a repetition's algorithm, by its place among all; `None`: it was not seen.
    pub fn get(&self, repetition: usize) -> Option<&str> {
        self.names[self.repetitions.places()[repetition] as usize].as_deref()
    }
}

impl Serialize for Algorithms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.repetitions.places().len()).map(|repetition| self.get(repetition)))
    }
}

impl<'a> Categorized<'a> {
    /// # Errors
    /// Run times that do not exist, or that the rule cannot sort.
    pub fn new(source: &'a Source, number: usize, rule: Rule, time: RunTime) -> Result<Self> {
        let RunTimes { repetition, run_time_ns } = source.run_times(number, time)?;
        let found = rule.apply(&repetition, &run_time_ns).with_context(|| format!("operation {number}"))?;
        let remarks = found.remarks(&repetition, &run_time_ns);
        Ok(Categorized {
            operation: &source.operations()[number],
            method: rule.name(),
            time,
            first_repetition: repetition.first().copied(),
            found,
            remarks,
            own_work: source.own_work(number),
            repetition: repetition.into_owned(),
            run_time_ns,
            algorithm: source.algorithms(number).map(Algorithms::new),
        })
    }

    /// The share of own work as text, where it is worth a mark.
    pub fn own_work(&self) -> Option<String> {
        self.own_work.and_then(own_work_text)
    }

    /// Remarks on the series, a line each.
    pub fn notes(&self) -> impl Iterator<Item = String> + use<'_> {
        self.remarks.sentences().map(|remark| format!("operation {}: {remark}", self.operation.operation))
    }
}
