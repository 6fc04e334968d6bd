//! Where the ranks' time in the calls of an operation went.

use mpitrace_analysis::account::Parts;
use mpitrace_statistics::categories::{Category, Rule};
use serde::Serialize;

use super::Source;

/// The time of all ranks in the calls of an operation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OperationTime {
    /// The sum of the four parts, s.
    run_time_s: f64,
    /// The parts, ns.
    #[serde(flatten)]
    pub parts: Parts,
}

/// The time of an operation; `None` for run times that were not traced, and for a region. `category`: the categories of
/// the local run times by this rule, where they are known.
pub fn of_operation(
    source: &Source,
    number: usize,
    rule: Rule,
    category: Option<&[Category]>,
) -> Option<OperationTime> {
    let traced = source.traced().filter(|traced| !traced.run.operations.operations[number].key.is_region)?;
    let parts = traced.account(number, rule, category).sum();
    Some(OperationTime { run_time_s: parts.run_time / 1e9, parts })
}

impl OperationTime {
    /// The parts that are not 0: `62.0 % waiting for others, 38.0 % communicating`.
    pub fn words(&self) -> String {
        let parts = [
            ("waiting for others", self.parts.waiting),
            ("off the processor", self.parts.interrupted),
            ("in the tracer", self.parts.perturbed),
            ("communicating", self.parts.communication),
        ];
        let parts = parts.into_iter().filter(|(_, ns)| *ns > 0.0);
        parts.map(|(name, ns)| format!("{} {name}", self.share(ns))).collect::<Vec<_>>().join(", ")
    }

    /// One of the parts (ns) as a share of the run time, `12.3 %`; empty where it is none.
    pub fn share(&self, ns: f64) -> String {
        if ns > 0.0 && self.parts.run_time > 0.0 {
            format!("{:.1} %", 100.0 * ns / self.parts.run_time)
        } else {
            String::new()
        }
    }
}
