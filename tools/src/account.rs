//! Where the ranks' time in the calls of an operation went.

use mpitrace::account::Parts;
use mpitrace::categories::{Category, Rule};
use serde::Serialize;

use crate::source::Source;

const NS: f64 = 1e9;

/// All ranks and all complete repetitions together, s; the first is the sum of the four that follow.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AccountFacts {
    pub run_time_s: f64,
    /// Waiting for a rank that had not entered the call yet.
    pub waiting_s: f64,
    /// Off the processor, beside the waiting: the least that it can have been.
    pub interrupted_s: f64,
    /// Delayed by the tracer.
    pub perturbed_s: f64,
    pub communication_s: f64,
    /// The most that may have been off the processor, waiting included; `null`: not known.
    pub interrupted_most_s: Option<f64>,
    /// The part of `communication_s` in calls of which it is not known for which ranks they wait.
    pub unsplit_s: f64,
}

/// That of an operation; `None` for run times that were not traced, and of a region. `category`: those of the local run times by this rule,
/// where they are known.
pub fn of(source: &Source, number: usize, rule: Rule, category: Option<&[Category]>) -> Option<AccountFacts> {
    let traced = source.traced().filter(|traced| !traced.operations.operations[number].key.is_region)?;
    let sum = traced.account(number, rule, category).sum();
    let Parts { run_time, waiting, interrupted, interrupted_most, perturbed, communication, unsplit, untimed, .. } =
        sum;
    Some(AccountFacts {
        run_time_s: run_time / NS,
        waiting_s: waiting / NS,
        interrupted_s: interrupted / NS,
        perturbed_s: perturbed / NS,
        communication_s: communication / NS,
        interrupted_most_s: (untimed == 0.0).then_some(interrupted_most / NS),
        unsplit_s: unsplit / NS,
    })
}

impl AccountFacts {
    /// The parts that are not 0: `62.0 % waiting for others, 38.0 % communication`.
    pub fn words(&self) -> String {
        let parts = [
            ("waiting for others", self.waiting_s),
            ("off the processor", self.interrupted_s),
            ("delayed by the tracer", self.perturbed_s),
            ("communication", self.communication_s),
        ];
        let parts = parts.into_iter().filter(|(_, seconds)| *seconds > 0.0);
        parts.map(|(name, seconds)| format!("{} {name}", self.share(seconds))).collect::<Vec<_>>().join(", ")
    }

    /// One of the parts as a share of the run time, `12.3 %`; empty where it is none.
    pub fn share(&self, seconds: f64) -> String {
        match seconds {
            _ if seconds > 0.0 && self.run_time_s > 0.0 => format!("{:.1} %", 100.0 * seconds / self.run_time_s),
            _ => String::new(),
        }
    }
}
