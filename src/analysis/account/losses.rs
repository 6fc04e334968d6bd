//! The time that was lost, by cause. Losses do not overlap: each is a share of another part of the account.

use std::collections::BTreeMap;

use mpitrace_statistics::names::names;
use serde::Serialize;

use super::late::Late;
use super::{Account, LatePartner, OperationAccount, RankAccount, RankPart};
use crate::reasons::{Because, alone};

/// Time that was lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Loss {
    /// The cause that lost it.
    pub kind: Kind,
    /// The world rank that caused it, or to which it happened; `None`: no single one.
    pub rank: Option<u32>,
    /// Why the rank was late, or off its processor, where that is known.
    pub because: Option<Because>,
    /// The operation's number; `None`: outside of collective calls.
    pub operation: Option<usize>,
    /// The rank with which it was in most of the point-to-point calls; `None`: not known, or no single one. With a reason:
    /// the one that was late for it.
    pub partner: Option<u32>,
    /// Of a rank for which others wait in message calls: the index in [`Account::late_messages`].
    #[serde(skip)]
    pub message: Option<usize>,
    /// All ranks together, ns. Outputs state it in seconds.
    #[serde(skip)]
    pub ns: f64,
    /// Repetitions in which it happened; 0 outside of collective calls.
    pub repetitions: usize,
}

impl Loss {
    /// The world rank that others wait for; `None`: no single one, or another kind of loss.
    pub fn late(&self) -> Option<u32> {
        match self.kind {
            Kind::LateRank => self.rank,
            Kind::PointToPoint => self.partner.filter(|_| self.because.is_some()),
            _ => None,
        }
    }
}

/// The causes that lose time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Others wait for a rank that comes late.
    #[default]
    LateRank,
    /// A rank is off its processor, in a collective call or outside of MPI calls.
    Interrupted,
    /// A rank is in point-to-point calls that can wait.
    PointToPoint,
    /// The first repetitions communicate for longer than the good ones.
    Warmup,
    /// Outliers communicate for longer than the good ones.
    Outliers,
    /// The tracer delays a call.
    Tracer,
}

names!(Kind {
    LateRank => "late-rank",
    Interrupted => "interrupted",
    PointToPoint => "point-to-point",
    Warmup => "warmup",
    Outliers => "outliers",
    Tracer => "tracer",
});

/// `in_turns`: where no rank of an operation is alone late, one loss is of all ranks; so is one outside of collective calls
/// that no rank has alone.
pub(super) fn listed(account: &Account, in_turns: bool) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (operation, of) in account.operations.iter().enumerate() {
        let mut add = |kind, rank, because, ns, repetitions| {
            losses.push(Loss { kind, rank, because, operation: Some(operation), ns, repetitions, ..Loss::default() });
        };
        match together(of).filter(|_| in_turns) {
            Some(late) => add(Kind::LateRank, None, late.because(), late.waiting_ns, late.repetitions),
            None => {
                for (&(rank, _), late) in of.ranks.iter().zip(&of.late) {
                    let mut late_by = |because, ns| add(Kind::LateRank, Some(rank), because, ns, late.repetitions);
                    late_by(Some(Because::OnProcessor), late.on_processor_ns);
                    late.interrupted_by.reasons().into_iter().for_each(|(because, ns)| late_by(Some(because), ns));
                    late_by(Some(Because::PointToPoint), late.point_to_point_ns);
                    late_by(Some(Because::OtherMpi), late.other_mpi_ns);
                    late_by(Some(Because::EarlierCall), late.earlier_call_ns);
                    late_by(Some(Because::Computing), late.computing_ns);
                    late_by(None, late.unknown_ns);
                }
            }
        }
        for &(rank, parts) in &of.ranks {
            for (because, ns) in parts.interrupted_by.reasons() {
                add(Kind::Interrupted, Some(rank), Some(because), ns, of.repetitions);
            }
        }
        add(Kind::Warmup, None, None, of.warmup.ns, of.warmup.repetitions);
        add(Kind::Outliers, None, None, of.outliers.ns, of.outliers.repetitions);
        add(Kind::Tracer, None, None, of.sum().perturbed, of.repetitions);
    }
    late_in_messages(account, in_turns, &mut losses);
    late_partners(account, &mut losses);
    for part in [RankPart::PointToPoint, RankPart::Preempted, RankPart::Asleep, RankPart::Throttled] {
        outside(account, part, in_turns, &mut losses);
    }
    losses.retain(|loss| loss.ns > 0.0);
    losses.sort_by(|one, other| other.ns.total_cmp(&one.ns));
    losses
}

/// Adds the time that others wait in message calls for each rank. `in_turns`: as one loss where no rank is alone late.
fn late_in_messages(account: &Account, in_turns: bool, losses: &mut Vec<Loss>) {
    let late = &account.late_messages;
    let mut by_rank: BTreeMap<u32, f64> = BTreeMap::new();
    late.iter().for_each(|late| *by_rank.entry(late.rank).or_default() += late.waiting_ns);
    let ns: Vec<f64> = by_rank.values().copied().collect();
    let loss = |index: usize, because, ns| Loss {
        kind: Kind::LateRank,
        rank: Some(late[index].rank),
        because: Some(because),
        message: Some(index),
        repetitions: late[index].repetitions,
        ns,
        ..Loss::default()
    };
    // A rank that waits itself passes on the delay of another one, which is late for all of them.
    let is_one = alone(&ns).is_some() || late.iter().any(|late| !late.chain.is_empty());
    if in_turns && !is_one && !late.is_empty() {
        let (ns, repetitions) = (ns.iter().sum(), late.iter().map(|late| late.repetitions).sum());
        return losses.push(Loss { rank: None, because: None, repetitions, ..loss(0, Because::Computing, ns) });
    }
    for (index, late) in late.iter().enumerate() {
        losses.push(loss(index, Because::PointToPoint, late.point_to_point_ns));
        late.off.reasons().into_iter().for_each(|(because, ns)| losses.push(loss(index, because, ns)));
        let computing = late.waiting_ns - late.point_to_point_ns - late.off.sum();
        losses.push(loss(index, Because::Computing, computing.max(0.0)));
    }
}

/// Adds the time in point-to-point calls while another rank was late, by that rank and its reason.
fn late_partners(account: &Account, losses: &mut Vec<Loss>) {
    for &LatePartner { late, rank, ns, off } in &account.late_partners {
        let reasons = off.reasons().into_iter().chain([(Because::Computing, ns - off.sum())]);
        losses.extend(reasons.map(|(because, ns)| Loss {
            kind: Kind::PointToPoint,
            rank,
            because: Some(because),
            partner: Some(late),
            ns,
            ..Loss::default()
        }));
    }
}

/// Adds what the ranks lost in a part of their time outside of collective calls.
fn outside(account: &Account, part: RankPart, in_turns: bool, losses: &mut Vec<Loss>) {
    let (kind, because) = match part {
        RankPart::Preempted => (Kind::Interrupted, Some(Because::Preempted)),
        RankPart::Asleep => (Kind::Interrupted, Some(Because::Asleep)),
        RankPart::Throttled => (Kind::Interrupted, Some(Because::Throttled)),
        _ => (Kind::PointToPoint, None),
    };
    let partner = |rank: Option<u32>| account.partner(rank?).filter(|_| kind == Kind::PointToPoint);
    let loss = |rank, ns| Loss { kind, rank, because, partner: partner(rank), ns, ..Loss::default() };
    let waiting = |rank: &RankAccount| if part == RankPart::PointToPoint { rank.message_waiting_ns } else { 0.0 };
    let mut times: Vec<f64> = account.ranks.iter().map(|rank| (rank.parts[part] - waiting(rank)).max(0.0)).collect();
    if in_turns {
        // Where others waited for the rank because of it, it has a line already.
        for (rank, ns) in account.ranks.iter().zip(&mut times) {
            let waited = losses.iter().filter(|loss| loss.late() == Some(rank.rank) && loss.because == because);
            let waited: f64 = waited.map(|loss| loss.ns).sum();
            *ns = if because.is_some() && waited > 0.5 * *ns { 0.0 } else { *ns };
        }
        if alone(&times).is_none() {
            return losses.push(loss(None, times.iter().sum()));
        }
    }
    losses.extend(account.ranks.iter().zip(times).map(|(rank, ns)| loss(Some(rank.rank), ns)));
}

/// All waiting in an operation whose ranks are late in turns; `None`: one rank is late, or several for reasons of their own.
fn together(of: &OperationAccount) -> Option<Late> {
    let waiting: Vec<f64> = of.late.iter().map(|late| late.waiting_ns).collect();
    if alone(&waiting).is_some() || Late::differ(&of.late) {
        return None;
    }
    let mut all = Late::default();
    of.late.iter().for_each(|&late| all += late);
    Some(Late { repetitions: all.repetitions.min(of.repetitions), ..all })
}
