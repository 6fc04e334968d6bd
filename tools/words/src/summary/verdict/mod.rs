//! The conclusion in one sentence, and the command that shows more.

mod evidence;
mod late;
mod little;
mod off;
mod point_to_point;
mod slow;

use mpitrace_analysis::account::{Account, LossKind};
use mpitrace_show::text;

use super::facts::{SlowCause, Summary};
use super::largest::Largest;

pub(super) use evidence::Evidence;
pub(super) use off::{off_advice, off_ranks};

pub(super) struct Verdict {
    pub sentence: String,
    pub next: Option<String>,
    /// The cause, if the conclusion is about slow repetitions.
    pub slow_cause: Option<SlowCause>,
    /// The gain without what it is about, s; `None`: whatever else is found, it stays.
    pub gain_s: Option<f64>,
}

impl Verdict {
    pub fn new(summary: &Summary, evidence: &Evidence, name: &str) -> Verdict {
        let command = |line: String| Some(format!("mpitrace {line}"));
        let has_defects = summary.mismatched > 0 || summary.undone.has_defects();
        // The first line says what `info` says in full.
        let leads_to_info = (summary.ended.is_some() || has_defects).then(|| format!("mpitrace info {name}"));
        if let Some(sentence) = summary.lack_verdict(evidence.account) {
            let next = leads_to_info.or_else(|| command(format!("info {name}")));
            return Verdict { sentence, next, slow_cause: None, gain_s: None };
        }
        let Some(largest) = Largest::new(summary, evidence.account) else {
            let (sentence, next) = little::without_loss(summary, name);
            let gain_s = Some(0.0).filter(|_| summary.unknown_ends == 0);
            return Verdict { sentence, next: leads_to_info.or(next), slow_cause: None, gain_s };
        };
        let mut slow_cause = None;
        let sentence = match largest.kind {
            LossKind::LateRank => late::late(summary, evidence),
            LossKind::Interrupted => off::interrupted(summary, evidence),
            LossKind::PointToPoint => point_to_point::point_to_point(evidence),
            LossKind::OneSided => point_to_point::one_sided(evidence.account),
            LossKind::Warmup | LossKind::Outliers => {
                let sentence;
                (sentence, slow_cause) = slow::slow(&largest, evidence);
                sentence
            }
            LossKind::Hung => format!("{}.", hung(evidence.account)),
            LossKind::ManySmall | LossKind::UnequalAmounts | LossKind::Serial | LossKind::Pipeline => String::new(),
            LossKind::Tracer => "The tracer is the largest loss: these run times are not reliable.".to_owned(),
        };
        let moving = summary.shown.iter().find(|loss| loss.moves.is_some()).and_then(|loss| loss.loss.operation);
        let next = match (largest.kind, largest.operations.first()) {
            // The picture of the arrivals, rank by repetition.
            (LossKind::LateRank, _) if moving.is_some() && sentence.contains(late::CHANGES) => {
                format!("report {name} --operation {} --plot arrival -o arrival.svg", moving.unwrap_or_default())
            }
            (_, Some((operation, _))) => format!("diagnose {name} --operation {operation}"),
            (LossKind::PointToPoint, _) => format!("summary {name} --by partner"),
            (LossKind::Hung, _) => format!("info {name}"),
            _ => format!("summary {name} --by rank"),
        };
        let gain_s = Some(largest.gain_s).filter(|_| largest.kind != LossKind::Hung);
        Verdict { sentence, next: leads_to_info.or_else(|| command(next)), slow_cause, gain_s }
    }
}

/// Which ranks did not move any more, and for how long.
fn hung(account: &Account) -> String {
    let longest = account.ranks.iter().map(|rank| rank.hung.ns).fold(0.0, f64::max);
    let is_of_all = account.knot.len() >= account.ranks.len();
    unmoved(if is_of_all { &[] } else { &account.knot }, longest)
}

/// `Ranks 0-1 began and ended no MPI call in the last 12.0 s`: `knot` are the ranks that a verdict names; without them
/// it is all.
pub fn unmoved(knot: &[u32], ns: f64) -> String {
    let time = text::time(ns);
    match knot {
        [] => format!("No rank began or ended an MPI call in the last {time}"),
        [rank] => format!("Rank {rank} began and ended no MPI call in the last {time}"),
        ranks => format!("Ranks {} began and ended no MPI call in the last {time}", text::ranks(ranks)),
    }
}
