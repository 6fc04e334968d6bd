//! Why repetitions are slow, by what the trace has as evidence: for each slow repetition, which ranks waited for which
//! rank and why that one was late, which ranks were off their processors or were moved, what the tracer delayed; then
//! which counters differ ([`crate::diagnosis`]). Each cause has its time, so that causes can be ranked.
//!
//! A slow repetition is compared with the repetitions of the fastest mode of substance, by what is usual in these. What
//! is usual is not lost, except to a rank that is always late, or always off its processor: that is a cause as well
//! ([`GroupKind::Steady`]).
//!
//! In a slow repetition, the time of all ranks is attributed in this order. The parts of the account are facts:
//!
//! 1. Waiting for a late rank, beyond what is usual: to that rank, and why it was late.
//! 2. Time off the processor in the call: to the rank.
//! 3. Communication of a rank that the tracer may have delayed, beyond what is usual: to the tracer.
//!
//! The rest of the communication beyond what is usual may have a cause on another rank, and has an upper bound there:
//!
//! 4. A rank that depends on one that was off its processor in the call has been held up for at most that time;
//!    likewise for one that the tracer may have delayed.
//! 5. In the first repetition, what is left is the cost of the first call.
//! 6. Of what is left in other groups, a counter that differs significantly has the share that its statistics state.
//!
//! Time that no evidence explains is stated as that.

mod attribute;
mod baseline;
mod conclude;
mod evidence;
mod output;
#[cfg(test)]
mod tests;

pub use conclude::Counted;

use mpitrace_statistics::categories::{Category, Rule};
use mpitrace_statistics::names::names;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{CompleteRows, Operation};
use mpitrace_trace::reader::Trace;
use mpitrace_trace::run_time::RunTime;

use crate::account::operation::MOST_AT_ONCE;
use crate::account::walk::Walk;
use crate::account::{Because, Late, Off};
use crate::diagnosis::{self, Group, GroupKind, groups};
use serde::Serialize;

/// The causes of an operation's slow repetitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Causes {
    /// The causes that have enough time to be named, the most first.
    pub causes: Vec<Cause>,
    /// The groups of slow repetitions, and the steady ones.
    #[serde(rename = "times")]
    pub groups: Vec<GroupTime>,
}

/// A cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// The kind of the cause.
    pub kind: CauseKind,
    /// The world rank to which it happens; `None`: no single one, as where ranks are late in turns.
    pub rank: Option<u32>,
    /// The name of a counter.
    pub counter: Option<String>,
    /// In which repetitions.
    pub repetitions: GroupKind,
    /// All ranks together, ns: the least that the evidence carries.
    pub ns: f64,
    /// The most that it may be, ns.
    pub most_ns: f64,
    /// Share of the group's extra time, 0 to 1; for steady ones of all time in these calls.
    pub share: f64,
    /// Repetitions in which it happens.
    pub count: usize,
    /// The part of `ns` that is communication of ranks to which it did not happen, or of which it is all that is known:
    /// what the account has as excess of the first repetitions and of outliers.
    pub communication_ns: f64,
    /// Why a late rank was late; `None` for other kinds.
    pub late: Option<Late>,
    /// Why a rank was off its processor, for `ns`.
    pub off: Off,
    /// For a counter, the probability of such a difference by chance, after the correction for the number of tests.
    pub p: Option<f64>,
}

/// The kinds of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CauseKind {
    /// Others wait for a rank that was late for another reason than those below.
    LateRank,
    /// A rank was off its processor, in the call or before it.
    Interrupted,
    /// A rank was off its processor, and on another one afterwards.
    Migration,
    /// The tracer itself delayed a rank.
    Perturbed,
    /// Page faults, where they were counted.
    PageFaults,
    /// The first call of the operation takes longer.
    FirstCall,
    /// A counter or a timer differs.
    Counter,
}

/// The time of some repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupTime {
    /// Which.
    pub repetitions: GroupKind,
    /// How many.
    pub count: usize,
    /// The time of all ranks in these calls, ns.
    pub run_ns: f64,
    /// The part of it beyond what is usual in the fastest mode, ns; 0 for these themselves.
    pub extra_ns: f64,
    /// The part of the extra time that has no cause, ns.
    pub unexplained_ns: f64,
    /// The part of `unexplained_ns` that may be time off the processor: in these calls it is not known.
    pub untimed_ns: f64,
    /// The part of `unexplained_ns` that may be waiting: it is not known for which ranks these calls wait.
    pub unsplit_ns: f64,
    /// The cause of most of the repetitions, where a few have the most time by another one.
    pub typical: Option<Typical>,
}

/// A cause that most of the repetitions of a group have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Typical {
    /// The kind of the cause.
    pub kind: CauseKind,
    /// The world rank to which it happens.
    pub rank: Option<u32>,
    /// The largest reason of a late rank, or of one that was off its processor.
    pub because: Option<Because>,
    /// Repetitions in which it happens.
    pub repetitions: usize,
    /// The time that it takes in one of these, all ranks together, in the mean; s in JSON.
    #[serde(rename = "mean_s", serialize_with = "output::seconds")]
    pub mean_ns: f64,
}

/// A cause has this share of a group's extra time at least, ...
pub const NAMED: f64 = 0.05;
/// ... and, where it happens in all repetitions, of all time in these calls.
pub const STEADY: f64 = 0.1;

names!(CauseKind {
    LateRank => "late-rank",
    Interrupted => "interrupted",
    Migration => "migration",
    Perturbed => "perturbed",
    PageFaults => "page-faults",
    FirstCall => "first-call",
    Counter => "counter",
});

impl Cause {
    /// For a late rank the reason with the largest part, for one that was off its processor the reason with the most
    /// time; `None`: not known, or the cause is neither.
    pub fn because(&self) -> Option<Because> {
        match &self.late {
            Some(late) => late.because(),
            None => self.off.largest().map(|(because, _)| because),
        }
    }
}

impl Causes {
    /// The causes of an operation's slow repetitions. `groups` are those of the diagnosis; `category` has one for each
    /// of these complete repetitions, in their order; `counted` are the counters that differ significantly.
    pub fn new(
        trace: &Trace,
        clock: &Clock,
        operation: &Operation,
        rows: &CompleteRows,
        groups: &[Group],
        category: &[Category],
        counted: &[Counted],
    ) -> Causes {
        let Some(walk) = Walk::over(trace, clock, operation) else { return Causes::default() };
        let sorted = evidence::Sorted::new(rows, groups, category);
        let Some(baseline) = baseline::Baseline::new(&walk, &sorted) else { return Causes::default() };
        let ranks: Vec<u32> = walk.members.iter().map(|member| trace.parts[member.index].rank()).collect();
        let mut table = attribute::Table::new(&walk, &sorted, &baseline);
        table.steady(&baseline);
        conclude::causes(table, &baseline, &ranks, groups, counted)
    }

    /// The causes that need no counter, of the local run time by this rule. The first 2^24 repetitions are looked at,
    /// where there are more.
    pub fn without_counters(trace: &Trace, clock: &Clock, operation: &Operation, rule: Rule) -> Causes {
        let rows = operation.complete().truncated(MOST_AT_ONCE);
        let number: Vec<u64> = (0..rows.len()).map(|place| operation.repetition.get(rows.get(place))).collect();
        let run_time_ns = operation.run_times_of(trace, clock, RunTime::Local, &rows, 0..rows.len());
        let Ok(found) = rule.apply(&number, &run_time_ns) else { return Causes::default() };
        let category = &found.categories.category;
        let repetitions = diagnosis::Repetitions { run_time_ns: &run_time_ns, category };
        Causes::new(trace, clock, operation, &rows, &groups(&repetitions), category, &[])
    }
}
