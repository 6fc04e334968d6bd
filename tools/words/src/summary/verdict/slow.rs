//! The conclusion where repetitions are slower than the good ones.

use mpitrace_analysis::account::{Because, LossKind, Off};
use mpitrace_analysis::causes::{self, Cause};
use mpitrace_analysis::diagnosis::GroupKind;
use mpitrace_show::text;

use super::evidence::Evidence;
use super::off::advice;
use crate::base::reason;
use crate::summary::facts::SlowCause;
use crate::summary::largest::{Largest, MOST};

/// Causes are looked for in operations with this share of a kind of loss: ten at most.
const LARGE: f64 = 0.1;

/// Slow repetitions, and the cause of most of their loss; without one, the next step.
pub(super) fn slow(largest: &Largest, evidence: &Evidence) -> (String, Option<SlowCause>) {
    let is_warmup = largest.kind == LossKind::Warmup;
    let is_of_loss = |cause: &Cause| match cause.repetitions {
        GroupKind::First | GroupKind::Warmup => is_warmup,
        GroupKind::Outlier => !is_warmup,
        GroupKind::Mode(_) | GroupKind::Steady => false,
    };
    // Its time in communication, which is what the loss is of, and why a rank was off its processor.
    let mut found: Vec<(causes::CauseKind, Option<u32>, f64, Off)> = Vec::new();
    for &(operation, _) in largest.operations.iter().filter(|(_, ns)| *ns >= LARGE * largest.ns) {
        for cause in (evidence.causes)(operation).causes.iter().filter(|cause| is_of_loss(cause)) {
            let (kind, rank) = (cause.kind, cause.rank.filter(|_| cause.kind != causes::CauseKind::FirstCall));
            match found.iter_mut().find(|found| (found.0, found.1) == (kind, rank)) {
                Some((.., ns, off)) => (*ns, *off) = (*ns + cause.communication_ns, sum(*off, cause.off)),
                None => found.push((kind, rank, cause.communication_ns, cause.off)),
            }
        }
    }
    let what = if is_warmup { "The first repetitions" } else { "Slow repetitions" };
    let lost = format!("{what} lose {}", text::time(largest.ns));
    let most = found.into_iter().max_by(|one, other| one.2.total_cmp(&other.2));
    let Some((kind, rank, ns, off)) = most.filter(|(.., ns, _)| *ns > MOST * largest.ns) else {
        let next = match (is_warmup, evidence.has_counters) {
            (_, true) => "most of it has no cause, unless a counter shows one: `diagnose` compares the counters",
            (true, false) => "no cause is recorded for most of it; longer runs lose less",
            (false, false) => "no cause is recorded for most of it; counters may show one",
        };
        return (format!("{lost}: {next}."), None);
    };
    let cause = SlowCause { kind, rank, seconds: ns / 1e9 };
    let (time, rank) = (text::time(ns), rank.map_or_else(|| "a rank".to_owned(), |rank| format!("rank {rank}")));
    let sentence = match kind {
        causes::CauseKind::Interrupted => {
            let because = off.largest().map_or(Because::OffProcessor, |(because, _)| because);
            let (was, advice) = (reason::was(because, false), advice(evidence, because));
            format!("{lost}, {time} of it since {rank} {was}: {advice}.")
        }
        causes::CauseKind::Migration => {
            format!("{lost}, {time} of it since {rank} was moved to other processors: bind the ranks.")
        }
        causes::CauseKind::Perturbed => format!(
            "{lost}, {time} of it since the tracer delayed {rank}: `MPITRACE_RESYNC` sets how often it synchronises."
        ),
        _ => format!("{lost}, {time} in the first call: call it once before timing it."),
    };
    (sentence, Some(cause))
}

fn sum(mut one: Off, other: Off) -> Off {
    one += other;
    one
}
