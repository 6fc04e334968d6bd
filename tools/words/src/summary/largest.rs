//! Which loss is the largest: the kind of which the conclusion is, and the ranks that others wait for.

use std::collections::BTreeMap;

use mpitrace_analysis::account::{
    Account, Because, Late, LateAtFinalize, LateMessages, LatePartner, LossKind, Off, RankPart,
};

use super::facts::{LossFacts, Summary};
use super::together::is_passed_on;

/// A loss below this share of the ranks' time is within the noise of most runs.
pub(super) const WORTH: f64 = 0.01;

/// A cause is stated if it has more than this share of the loss.
pub(super) const MOST: f64 = 0.5;

/// The kind of loss without which most would be gained, all operations together.
pub(super) struct Largest {
    pub kind: LossKind,
    pub ns: f64,
    /// As if gains added up, s.
    pub gain_s: f64,
    /// The operations with their shares of it in ns, the largest first; none where most of it is outside of them.
    pub operations: Vec<(usize, f64)>,
}

impl Largest {
    /// `None`: nothing is worth a word.
    pub fn new(summary: &Summary, account: &Account) -> Option<Largest> {
        let losses = account.losses(false);
        let of_kind = |kind: LossKind| {
            let mut by_operation: BTreeMap<Option<usize>, f64> = BTreeMap::new();
            let is_known = kind != LossKind::Hung || account.hung().least_ns > 0.0;
            let of_kind = losses.iter().filter(|loss| is_known && loss.kind == kind);
            of_kind.for_each(|loss| *by_operation.entry(loss.operation).or_default() += loss.ns);
            let ns = by_operation.values().sum();
            let outside = by_operation.remove(&None).unwrap_or(0.0);
            let mut operations: Vec<(usize, f64)> =
                by_operation.into_iter().filter_map(|(operation, ns)| Some((operation?, ns))).collect();
            operations.retain(|_| outside < MOST * ns);
            operations.sort_by(|one, other| other.1.total_cmp(&one.1));
            let shown = summary.shown.iter().filter(|loss| is_known && loss.loss.kind == kind);
            Largest { kind, ns, gain_s: shown.map(|loss| loss.gain.likely()).sum(), operations }
        };
        let kinds = [
            LossKind::LateRank,
            LossKind::Interrupted,
            LossKind::PointToPoint,
            LossKind::OneSided,
            LossKind::Warmup,
            LossKind::Outliers,
            LossKind::Hung,
            LossKind::Tracer,
        ];
        let largest = kinds
            .map(of_kind)
            .into_iter()
            .max_by(|one, other| one.gain_s.total_cmp(&other.gain_s).then(one.ns.total_cmp(&other.ns)))?;
        // What keeps a rank from its processor and lets the others wait for it is one loss: they wait for that rank.
        let largest = match largest.kind {
            LossKind::Interrupted => {
                let waiting = if is_off(summary, account) { LossKind::LateRank } else { LossKind::PointToPoint };
                let is_known = waiting == LossKind::LateRank || is_partner_off(account);
                Some(of_kind(waiting)).filter(|late| is_known && 2.0 * late.ns >= largest.ns)
            }
            _ => None,
        }
        .unwrap_or(largest);
        let slow = [LossKind::Warmup, LossKind::Outliers, LossKind::Tracer, LossKind::Hung];
        // Which kind is the largest one of several small ones differs from run to run.
        let is_known = |loss: &&LossFacts| loss.gain.seconds.or(loss.gain.most).is_some();
        let is_little = summary.is_little(largest.gain_s) && summary.shown.iter().any(|loss| is_known(&loss));
        if (is_little || summary.gains_are_little()) && !slow.contains(&largest.kind) {
            return None;
        }
        (largest.ns > 0.0 && largest.ns >= WORTH * account.rank_ns()).then_some(largest)
    }
}

/// True: most of the waiting for late ranks is for ranks that were off their processors.
fn is_off(summary: &Summary, account: &Account) -> bool {
    let (_, lates) = lates(summary, account);
    let sum = |of: fn(&Late) -> f64| lates.iter().map(of).sum::<f64>();
    sum(|late| late.interrupted_ns) > MOST * sum(|late| late.waiting_ns)
}

/// True if the rank that others wait for in point-to-point calls was mostly off its processor.
fn is_partner_off(account: &Account) -> bool {
    account.late_partners.first().is_some_and(|late| {
        late.off.sum() > MOST * late.ns && late.ns > MOST * account.rank_parts()[RankPart::PointToPoint]
    })
}

/// The ranks that others wait for, and how long: one that only passes on the delay of another one is not late.
pub(super) fn lates(summary: &Summary, account: &Account) -> (Vec<u32>, Vec<Late>) {
    let mut of_rank: BTreeMap<u32, Late> = BTreeMap::new();
    for operation in &account.operations {
        let ranks = operation.ranks.iter().zip(&operation.late);
        ranks.for_each(|(&(rank, _), &late)| *of_rank.entry(rank).or_default() += late);
    }
    if let Some(LateAtFinalize { rank, late, .. }) = &account.late_at_finalize {
        *of_rank.entry(*rank).or_default() += *late;
    }
    // What a rank passes on counts for the one with which it begins.
    let own_ns = |late: &LateMessages| late.waiting_ns - late.point_to_point_ns;
    for late in &account.late_messages {
        let begins = *late.chain.last().unwrap_or(&late.rank);
        let of_begin = || account.late_messages.iter().filter(|other| other.rank == begins);
        let (mut off, all) = (Off::default(), of_begin().map(own_ns).sum::<f64>());
        of_begin().for_each(|other| off += other.off);
        *of_rank.entry(late.rank).or_default() += of_messages(own_ns(late), late.off);
        let passed_on = of_messages(late.point_to_point_ns, off.to(late.point_to_point_ns * off.sum() / all.max(1.0)));
        *of_rank.entry(begins).or_default() += passed_on;
    }
    for loss in summary.losses.iter().filter(|loss| is_passed_on(loss.loss.because) && loss.loss.message.is_none()) {
        let (ns, begins) = (loss.loss.ns, loss.begins_with());
        let late = loss.loss.rank.filter(|_| loss.loss.kind == LossKind::LateRank);
        if let Some(((rank, because), from)) = begins.zip(late.and_then(|rank| of_rank.get_mut(&rank))) {
            from.waiting_ns -= ns;
            match loss.loss.because {
                Some(Because::EarlierCall) => from.earlier_call_ns -= ns,
                _ => from.in_calls.point_to_point -= ns,
            }
            *of_rank.entry(rank).or_default() += Late::of_reason(because, ns);
        }
    }
    of_rank.into_iter().map(|(rank, late)| (rank, account.limited(rank, late))).unzip()
}

/// Waiting in message calls for a rank that was off its processor for a part of it.
pub(super) fn of_messages(waiting_ns: f64, off: Off) -> Late {
    Late {
        waiting_ns,
        interrupted_ns: off.sum(),
        interrupted_by: off,
        computing_ns: waiting_ns - off.sum(),
        ..Late::default()
    }
}

/// A rank that is late for exchanges of messages.
pub(super) fn of_partner(late: &LatePartner) -> Late {
    of_messages(late.ns, late.off)
}
