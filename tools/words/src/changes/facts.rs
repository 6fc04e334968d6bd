//! The change of a job and of its parts, by the keys of JSON.

use mpitrace_analysis::account::Because;
use mpitrace_changes::{Change, Names};
use serde::Serialize;

/// The facts of the job in the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decided {
    /// B takes longer.
    Longer,
    /// B takes less time.
    Less,
    /// There is no difference that would matter.
    Equal,
    /// These runs do not decide.
    Open,
    /// Each side has one run: nothing shows how much runs differ.
    Untested,
}

/// The change of a job.
#[derive(Clone, Debug, Serialize)]
pub struct JobFacts {
    /// The letters of the sides.
    pub sides: Names,
    /// The times in the runs.
    pub decided: Decided,
    /// The ranks of A and B.
    pub ranks: [usize; 2],
    /// Their runs.
    pub runs: [usize; 2],
    /// The runs that the parts are of: without the slowest quarter of each side.
    pub runs_kept: [usize; 2],
    /// The median time of the runs of A and B, s.
    pub seconds: [f64; 2],
    /// How much longer B takes, s, and the interval.
    pub change_s: f64,
    /// See `change_s`.
    pub change_ci_s: Option<[f64; 2]>,
    /// As a share of what A takes, and the interval.
    pub share: Option<f64>,
    /// See `share`.
    pub share_ci: Option<[f64; 2]>,
    /// The p-value; `null`: each side has one run.
    pub p: Option<f64>,
    /// The parts, the largest change first: with the remainder they add up to `change_s`.
    pub parts: Vec<PartFacts>,
    /// The difference that is in no part, s.
    pub remainder_s: f64,
    /// The change in one sentence.
    pub sentence: String,
}

/// The change of a part of the time of a rank, in the mean of all ranks and runs.
#[derive(Clone, Debug, Serialize)]
pub struct PartFacts {
    /// `operation`, `waiting`, `function`, or the part of the account of a rank.
    pub kind: String,
    /// The part in words.
    pub name: String,
    /// The key of an operation; `null`: the part is none.
    pub operation_key: Option<String>,
    /// The function and the line of the program that calls it; `null`: not recorded.
    pub call_site: Option<String>,
    /// `both`, `new` or `gone`.
    pub state: &'static str,
    /// The rank that others wait for, or that has most of the change; `null`: no single one.
    pub rank: Option<u32>,
    /// The host of these ranks in B, or that has most of the change; `null`: no single one, or all ranks are on one.
    pub node: Option<String>,
    /// Why it is late; `null`: not known, or no waiting.
    pub because: Option<Because>,
    /// A.
    pub a: SideFacts,
    /// B.
    pub b: SideFacts,
    /// How much longer it takes in B, s.
    pub change_s: f64,
    /// The part of it that is time off the processor in the calls of an operation, s.
    pub off_change_s: f64,
    /// Its interval, of 95 %; `null`: a side has one run.
    pub change_ci_s: Option<[f64; 2]>,
    /// The algorithm on both sides, where it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithms: Option<[String; 2]>,
    /// The change, for sentences.
    #[serde(skip)]
    pub change: Change,
}

/// A part on one side.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SideFacts {
    /// The time of a rank in it, s.
    pub seconds: f64,
    /// Calls of a rank; `null`: they are not counted.
    pub calls: Option<f64>,
}
