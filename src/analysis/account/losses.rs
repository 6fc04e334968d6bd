//! The time that was lost, by cause. Losses do not overlap: each is a share of another part of the account.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mpitrace_statistics::names::names;
use serde::Serialize;

use super::late::Late;
use super::{Account, LateAtFinalize, LatePartner, OperationAccount, RankAccount, RankPart};
use crate::reasons::{Because, alone};

/// Time that was lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Loss {
    /// The cause that lost it.
    pub kind: LossKind,
    /// The world rank that caused it, or to which it happened; `None`: no single one.
    pub rank: Option<u32>,
    /// Why the rank was late, or off its processor, where that is known.
    pub because: Option<Because>,
    /// The operation's number; `None`: outside of collective calls.
    pub operation: Option<usize>,
    /// The rank with which it was in most of the point-to-point calls; `None`: not known, or no single one. With a
    /// reason: the one that was late for it.
    pub partner: Option<u32>,
    /// The index in [`Account::late_messages`] of a rank for which others wait in message calls.
    #[serde(skip)]
    pub message: Option<usize>,
    /// Others wait in MPI_Finalize, of which there is no record.
    #[serde(skip)]
    pub at_finalize: bool,
    /// The world ranks that have losses of their own, and no part in this loss of several ranks.
    #[serde(skip)]
    pub except: BTreeSet<u32>,
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
            LossKind::LateRank => self.rank,
            LossKind::PointToPoint => self.partner.filter(|_| self.because.is_some()),
            _ => None,
        }
    }
}

/// The causes that lose time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossKind {
    /// Others wait for a rank that comes late.
    #[default]
    LateRank,
    /// A rank is off its processor, in a collective call or outside of MPI calls.
    Interrupted,
    /// A rank is in point-to-point calls that can wait.
    PointToPoint,
    /// A rank is in one-sided calls that can wait: for a lock, or for others.
    OneSided,
    /// The first repetitions communicate for longer than the good ones.
    Warmup,
    /// Outliers communicate for longer than the good ones.
    Outliers,
    /// No rank of the job, or of those that a verdict names, moved any more until the job was ended.
    Hung,
    /// The tracer delays a call.
    Tracer,
    /// Many short collectives follow each other where one would do. This one and those below are no part of the
    /// account: they are other views of time that the others have too.
    ManySmall,
    /// Some ranks pass far more data than the others.
    UnequalAmounts,
    /// One rank works and all others wait.
    Serial,
    /// The ranks do equal work one after the other.
    Pipeline,
}

names!(LossKind {
    LateRank => "late-rank",
    Interrupted => "interrupted",
    PointToPoint => "point-to-point",
    OneSided => "one-sided",
    Warmup => "warmup",
    Outliers => "outliers",
    Hung => "hung",
    Tracer => "tracer",
    ManySmall => "many-small",
    UnequalAmounts => "unequal-amounts",
    Serial => "serial",
    Pipeline => "pipeline",
});

/// The lists that a loss is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// In the list of single losses, and in the one that joins those of ranks that are late in turns.
    Both,
    /// Its rank is late in turns with others: it is joined with theirs in the other list.
    Single,
    /// All ranks that are late in turns.
    InTurns,
}

impl Listed {
    /// True: the list has it.
    pub(crate) fn is_in(self, in_turns: bool) -> bool {
        match self {
            Listed::Both => true,
            Listed::Single => !in_turns,
            Listed::InTurns => in_turns,
        }
    }
}

type InLists = Vec<(Loss, Listed)>;

/// The losses of one of the two lists.
pub(super) fn listed(account: &Account, in_turns: bool) -> Vec<Loss> {
    let made = all(account).into_iter().filter(|(_, listed)| listed.is_in(in_turns));
    made.map(|(loss, _)| loss).collect()
}

/// All losses, the largest first, each once. Where no rank of an operation is alone late, one loss is of all ranks; so
/// is one outside of collective calls that no rank has alone.
pub(crate) fn all(account: &Account) -> InLists {
    let mut made = Vec::new();
    for (operation, of) in account.operations.iter().enumerate() {
        let mut add = |listed, kind, rank, because, ns, repetitions| {
            let loss = Loss { kind, rank, because, operation: Some(operation), ns, repetitions, ..Loss::default() };
            made.push((loss, listed));
        };
        let together = together(of);
        let single = if together.is_some() { Listed::Single } else { Listed::Both };
        if let Some(late) = together {
            add(Listed::InTurns, LossKind::LateRank, None, late.because(), late.waiting_ns, late.repetitions);
        }
        for (&(rank, _), late) in of.ranks.iter().zip(&of.late) {
            let mut late_by = |because, ns| add(single, LossKind::LateRank, Some(rank), because, ns, late.repetitions);
            late.reasons().for_each(|(because, ns)| late_by(because, ns));
        }
        for &(rank, parts) in &of.ranks {
            for (because, ns) in parts.interrupted_by.reasons() {
                add(Listed::Both, LossKind::Interrupted, Some(rank), Some(because), ns, of.repetitions);
            }
        }
        // The first call on a file makes it, or finds it for the first time: another act than the later ones.
        if !of.is_io {
            add(Listed::Both, LossKind::Warmup, None, None, of.warmup.ns, of.warmup.repetitions);
        }
        add(Listed::Both, LossKind::Outliers, None, None, of.outliers.ns, of.outliers.repetitions);
        add(Listed::Both, LossKind::Tracer, None, None, of.sum().perturbed, of.repetitions);
    }
    late_in_messages(account, &mut made);
    late_partners(account, &mut made);
    if let Some(LateAtFinalize { rank, late, .. }) = &account.late_at_finalize {
        made.extend(late.reasons().map(|(because, ns)| {
            let loss = Loss { rank: Some(*rank), because, at_finalize: true, ns, repetitions: 1, ..Loss::default() };
            (loss, Listed::Both)
        }));
    }
    for part in [RankPart::PointToPoint, RankPart::OneSided, RankPart::Preempted, RankPart::Asleep, RankPart::Throttled]
    {
        outside(account, part, &mut made);
    }
    let hung: Vec<f64> = account.ranks.iter().map(|rank| rank.parts[RankPart::Hung]).collect();
    let rank = alone(&hung).map(|at| account.ranks[at].rank).filter(|_| account.ranks.len() > 1);
    made.push((Loss { kind: LossKind::Hung, rank, ns: hung.iter().sum(), ..Loss::default() }, Listed::Both));
    made.retain(|(loss, _)| loss.ns > 0.0);
    made.sort_by(|(one, _), (other, _)| other.ns.total_cmp(&one.ns));
    made
}

/// Adds the time that others wait in message calls for each rank, and as one loss where no rank is alone late.
fn late_in_messages(account: &Account, made: &mut InLists) {
    let late = &account.late_messages;
    let mut by_rank: BTreeMap<u32, f64> = BTreeMap::new();
    late.iter().for_each(|late| *by_rank.entry(late.rank).or_default() += late.waiting_ns);
    let ns: Vec<f64> = by_rank.values().copied().collect();
    let loss = |index: usize, because, ns| Loss {
        kind: LossKind::LateRank,
        rank: Some(late[index].rank),
        because: Some(because),
        message: Some(index),
        repetitions: late[index].repetitions,
        ns,
        ..Loss::default()
    };
    // A rank that waits itself passes on the delay of another one, which is late for all of them.
    let is_one = alone(&ns).is_some() || late.iter().any(|late| !late.chain.is_empty());
    let single = if is_one { Listed::Both } else { Listed::Single };
    if !is_one && !late.is_empty() {
        let (ns, repetitions) = (ns.iter().sum(), late.iter().map(|late| late.repetitions).sum());
        let all = Loss { rank: None, because: None, repetitions, ..loss(0, Because::Computing, ns) };
        made.push((all, Listed::InTurns));
    }
    for (index, late) in late.iter().enumerate() {
        let mut add = |because, ns| made.push((loss(index, because, ns), single));
        add(Because::PointToPoint, late.point_to_point_ns);
        late.off.reasons().into_iter().for_each(|(because, ns)| add(because, ns));
        let computing = late.waiting_ns - late.point_to_point_ns - late.off.sum();
        add(Because::Computing, computing.max(0.0));
    }
}

/// Adds the time in point-to-point calls while another rank was late, by that rank and its reason.
fn late_partners(account: &Account, made: &mut InLists) {
    for &LatePartner { late, rank, ns, off } in &account.late_partners {
        let reasons = off.reasons().into_iter().chain([(Because::Computing, ns - off.sum())]);
        made.extend(reasons.map(|(because, ns)| {
            let (because, partner) = (Some(because), Some(late));
            (Loss { kind: LossKind::PointToPoint, rank, because, partner, ns, ..Loss::default() }, Listed::Both)
        }));
    }
}

/// Adds what the ranks lost in a part of their time outside of collective calls.
fn outside(account: &Account, part: RankPart, made: &mut InLists) {
    let (kind, because) = match part {
        RankPart::Preempted => (LossKind::Interrupted, Some(Because::Preempted)),
        RankPart::Asleep => (LossKind::Interrupted, Some(Because::Asleep)),
        RankPart::Throttled => (LossKind::Interrupted, Some(Because::Throttled)),
        RankPart::OneSided => (LossKind::OneSided, None),
        _ => (LossKind::PointToPoint, None),
    };
    let partner = |rank: Option<u32>| account.partner(rank.filter(|_| kind == LossKind::PointToPoint)?);
    let loss = |rank, ns| Loss { kind, rank, because, partner: partner(rank), ns, ..Loss::default() };
    let waiting = |rank: &RankAccount| if part == RankPart::PointToPoint { rank.message_waiting_ns } else { 0.0 };
    // A thread that may have waited for another one of its rank did not sleep.
    let not_asleep = |rank: &RankAccount| if part == RankPart::Asleep { rank.off().unknown } else { 0.0 };
    let lost = |rank: &RankAccount| (rank.parts[part] - waiting(rank) - not_asleep(rank)).max(0.0);
    // Where others waited for the rank because of it, it has a line already in the list of those late in turns.
    let mut waited: HashMap<u32, f64> = HashMap::new();
    let of_reason = made.iter().filter(|(loss, listed)| listed.is_in(true) && loss.because == because);
    for (loss, _) in of_reason.filter(|_| because.is_some()) {
        loss.late().into_iter().for_each(|rank| *waited.entry(rank).or_default() += loss.ns);
    }
    let has_line = |rank: &RankAccount, ns: f64| waited.get(&rank.rank).is_some_and(|waited| *waited > 0.5 * ns);
    let times: Vec<f64> = account.ranks.iter().map(lost).collect();
    let without_line = |(rank, &ns): (&RankAccount, &f64)| if has_line(rank, ns) { 0.0 } else { ns };
    let left: Vec<f64> = account.ranks.iter().zip(&times).map(without_line).collect();
    let is_one = alone(&left).is_some();
    if !is_one {
        let with_line =
            account.ranks.iter().zip(&times).zip(&left).filter(|((_, ns), left)| **ns > 0.0 && **left == 0.0);
        let except = with_line.map(|((rank, _), _)| rank.rank).collect();
        made.push((Loss { except, ..loss(None, left.iter().sum()) }, Listed::InTurns));
    }
    for ((rank, ns), left) in account.ranks.iter().zip(times).zip(left) {
        let listed = if is_one && left > 0.0 { Listed::Both } else { Listed::Single };
        made.push((loss(Some(rank.rank), ns), listed));
    }
}

/// All waiting in an operation whose ranks are late in turns; `None`: one rank is late, or several for reasons of their
/// own.
fn together(of: &OperationAccount) -> Option<Late> {
    let waiting: Vec<f64> = of.late.iter().map(|late| late.waiting_ns).collect();
    if alone(&waiting).is_some() || Late::differ(&of.late) {
        return None;
    }
    let mut all = Late::default();
    of.late.iter().for_each(|&late| all += late);
    Some(Late { repetitions: all.repetitions.min(of.repetitions), ..all })
}
