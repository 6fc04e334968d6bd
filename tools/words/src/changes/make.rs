//! From the changes of a job to the facts of JSON.

use mpitrace_changes::{Change, Changes, Identity, Names, What};
use mpitrace_statistics::comparison::{Comparison, SIGNIFICANCE, Verdict};

use super::facts::{Decided, JobFacts, PartFacts, SideFacts};
use super::parts::{self, operation};
use super::sentence::{Subject, sentence};

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
            node: change.node.clone(),
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
