//! The change of a job and of its parts, by the keys of JSON.

use mpitrace_analysis::account::Because;
use mpitrace_changes::{Change, Changes, Identity, Names, What};
use mpitrace_statistics::comparison::{Comparison, SIGNIFICANCE, Verdict};
use serde::Serialize;

use super::parts;
use super::sentence::{Subject, sentence};

/// What the runs say of the job.
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
    /// What the runs say.
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
    /// Of an operation: its key; `null`: the part is none.
    pub operation_key: Option<String>,
    /// The function and the line of the program that calls it; `null`: not recorded.
    pub call_site: Option<String>,
    /// `both`, `new` or `gone`.
    pub state: &'static str,
    /// The rank that others wait for, or that has most of the change; `null`: no single one.
    pub rank: Option<u32>,
    /// Why it is late; `null`: not known, or no waiting.
    pub because: Option<Because>,
    /// A.
    pub a: SideFacts,
    /// B.
    pub b: SideFacts,
    /// How much longer it takes in B, s.
    pub change_s: f64,
    /// Of an operation: so much of it is time off the processor in its calls, s.
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

/// A difference of the job that matters to nobody, as a share.
const LITTLE: f64 = 0.02;

impl JobFacts {
    /// The facts of the changes of a job whose times were compared. `algorithms`: those of an operation on both sides,
    /// by its key, where they differ.
    pub fn new(
        changes: &Changes,
        job: &Comparison,
        sides: Names,
        subject: &Subject,
        algorithms: impl Fn(&str) -> Option<[String; 2]>,
    ) -> JobFacts {
        let share_ci = job.relative.and_then(|relative| relative.interval);
        let decided = match job.verdict() {
            _ if job.p.is_none() => Decided::Untested,
            // The job has one value a run: nothing can cross.
            Verdict::A => Decided::Longer,
            Verdict::B => Decided::Less,
            _ if share_ci.is_some_and(|ends| ends.iter().all(|end| end.abs() <= LITTLE)) => Decided::Equal,
            _ if job.p.is_some_and(|p| p <= SIGNIFICANCE) && changes.job.change_s > 0.0 => Decided::Longer,
            _ if job.p.is_some_and(|p| p <= SIGNIFICANCE) => Decided::Less,
            _ => Decided::Open,
        };
        let mut facts = JobFacts {
            sides,
            decided,
            ranks: changes.ranks,
            runs: changes.runs,
            runs_kept: changes.kept,
            seconds: changes.job.seconds,
            change_s: changes.job.change_s,
            change_ci_s: job.effect.interval_ns.map(|ends| ends.map(|ns| ns / 1e9)),
            share: job.relative.map(|relative| relative.share),
            share_ci,
            p: job.p,
            parts: changes.parts.iter().map(|change| PartFacts::new(change, &algorithms)).collect(),
            remainder_s: changes.remainder_s,
            sentence: String::new(),
        };
        facts.sentence = sentence(&facts, subject);
        facts
    }
}

impl PartFacts {
    fn new(change: &Change, algorithms: impl Fn(&str) -> Option<[String; 2]>) -> PartFacts {
        let operation = operation(change);
        let key = operation.filter(|one| !one.is_whole).map(Identity::key);
        let side =
            |side: usize| SideFacts { seconds: change.seconds[side], calls: change.calls.map(|calls| calls[side]) };
        let (rank, because) = match &change.what {
            What::Waiting(rank, because) => (*rank, *because),
            _ => (change.rank, None),
        };
        PartFacts {
            kind: match &change.what {
                What::Operation(_) => "operation".to_owned(),
                What::Waiting(..) => "waiting".to_owned(),
                What::Function(_) => "function".to_owned(),
                What::Part(part) => part.name().to_owned(),
            },
            name: parts::name(change),
            call_site: operation.and_then(Identity::site),
            state: match &change.what {
                What::Operation(both) if both[0].is_none() => "new",
                What::Operation(both) if both[1].is_none() => "gone",
                _ => "both",
            },
            rank,
            because,
            a: side(0),
            b: side(1),
            change_s: change.change_s,
            off_change_s: change.off_change_s,
            change_ci_s: change.interval_s,
            algorithms: key.as_deref().and_then(algorithms),
            operation_key: key,
            change: change.clone(),
        }
    }
}

/// The operation of a part, as B has it, else A.
pub(super) fn operation(change: &Change) -> Option<&Identity> {
    match &change.what {
        What::Operation(both) => both[1].as_ref().or(both[0].as_ref()),
        _ => None,
    }
}
