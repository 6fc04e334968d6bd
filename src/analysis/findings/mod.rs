//! Habits of a program that cost time, found in the recorded times of a run: calls that it makes too often, and work
//! that its ranks do one after the other.
//!
//! These findings are another view of time that the losses of the account have too: a serial phase is waiting for a
//! late rank. So they overlap with these, and with each other.

mod amounts;
mod one_at_a_time;
mod rows;
mod stretches;
#[cfg(test)]
mod tests;

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::{Part, Trace};
use serde::Serialize;

use crate::account::{Account, Before, Loss, LossKind};
use crate::replay::Gain;

pub use amounts::UnequalAmounts;
pub use one_at_a_time::{Pipeline, Serial};
pub use rows::ManySmall;
pub(crate) use stretches::stretches;
pub use stretches::{Stretch, Stretches};

/// Nothing below this share of the job is listed.
const LEAST: f64 = 0.01;
/// The times of so many calls, or between so many, are kept for what looks into them, as samples do.
const MOST_PLACES: usize = 1 << 16;

/// A run, as far as findings stand on it.
#[derive(Clone, Copy)]
pub(crate) struct Known<'r> {
    pub trace: &'r Trace,
    pub clock: &'r Clock,
    pub operations: &'r Operations,
    pub account: &'r Account,
}

/// Something that a program does too often, or one rank after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its kind, operation and rank, and the time of all ranks together.
    pub loss: Loss,
    /// The time by which the job would be shorter without it, by a model of the recorded times.
    pub gain: Gain,
    /// Its own numbers.
    pub found: Found,
    /// The times in which its code runs, of the ranks that run it.
    pub at: Vec<Before>,
    /// The times between calls that follow each other, in which no other code should run.
    pub between: Vec<Before>,
}

/// The numbers of a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Found {
    /// Many short collectives in a row.
    ManySmall(ManySmall),
    /// Ranks with far more data than others.
    UnequalAmounts(UnequalAmounts),
    /// One rank works, and all others wait.
    Serial(Serial),
    /// Ranks do equal work one after the other.
    Pipeline(Pipeline),
}

impl Found {
    /// The kind of loss that it is listed as.
    pub fn kind(&self) -> LossKind {
        match self {
            Found::ManySmall(_) => LossKind::ManySmall,
            Found::UnequalAmounts(_) => LossKind::UnequalAmounts,
            Found::Serial(_) => LossKind::Serial,
            Found::Pipeline(_) => LossKind::Pipeline,
        }
    }

    /// True: its code is what calls MPI, else what runs between the calls.
    pub fn is_in_mpi(&self) -> bool {
        !matches!(self, Found::Serial(_))
    }
}

/// The findings of a run, the largest gain first. None of a run whose clocks are not synchronised, of which not all
/// calls are kept, or in which several threads of a rank make collective calls.
pub(crate) fn findings(run: Known) -> Vec<Finding> {
    let Known { trace, clock, account, .. } = run;
    let threads = |part: &Part| part.runs().iter().any(|run| run.count > 0 && run.thread != part.main_thread());
    let parts = &trace.parts;
    if parts.len() < 2
        || !clock.is_synchronised()
        || !parts.iter().all(Part::waits_are_stamped)
        || parts.iter().any(|part| part.is_sample() || part.lacks_calls() || threads(part))
    {
        return Vec::new();
    }
    let job_ns = account.ranks.iter().map(|rank| rank.wall_ns).fold(0.0, f64::max);
    let mut found = rows::many_small(run, job_ns);
    found.extend(amounts::unequal(run, job_ns));
    found.extend(one_at_a_time::serial_and_pipeline(run, job_ns));
    found.retain(|finding| 1e9 * finding.gain.likely() >= LEAST * job_ns);
    found.sort_by(|one, other| other.gain.likely().total_cmp(&one.gain.likely()));
    found
}
