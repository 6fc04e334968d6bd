//! Where a loss begins: of a rank that is late since it left its call before later than the others, the rank that it
//! waited for there, and so on, to one that was not late because of a call.

use std::collections::{BTreeMap, HashMap};

use mpitrace_trace::reader::Trace;

use crate::account::walk::{Step, Walk};
use crate::account::{Account, Because, Loss, LossKind, Off};
use crate::messages::MessageWait;
use crate::messages::waits::{self, within};

/// A rank in the chain from a loss to where it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The world rank; `None`: not known from here on.
    pub rank: Option<u32>,
    /// Why it was late.
    pub because: Option<Because>,
    /// The operation's number in which others waited for it.
    pub operation: Option<usize>,
}

/// Finds the origins of losses, repetition by repetition.
pub(super) struct Origins<'a> {
    /// The lanes of ranks that are late because of a call before: by operation and rank.
    lanes: HashMap<(usize, u32), usize>,
    /// For each part what kept it in its call before.
    kept: Vec<Origin>,
    /// For each member what kept it in this call.
    keeping: Vec<Origin>,
    /// For each rank that is late for this call, why.
    late_by: Vec<Option<Because>>,
    /// For each of these lanes how long which origin made the rank late, ns.
    found: BTreeMap<(usize, Origin), f64>,
    /// The lanes of ranks that are late because of point-to-point calls, where message calls were recorded.
    lanes_of_messages: HashMap<(usize, u32), usize>,
    waits: &'a [Vec<MessageWait>],
    /// For each of these lanes how long which parts, each waiting for the next one, made the rank late, ns.
    chains_of_messages: BTreeMap<(usize, Vec<usize>), f64>,
}

impl<'a> Origins<'a> {
    /// The origins of so many parts, which waited so in message calls.
    pub fn new(losses: &[Loss], parts: usize, waits: &'a [Vec<MessageWait>]) -> Origins<'a> {
        let lanes = |because: Because| {
            let is_wanted = |loss: &Loss| loss.kind == LossKind::LateRank && loss.because == Some(because);
            let all = losses.iter().enumerate().filter(|(_, loss)| is_wanted(loss));
            all.filter_map(|(lane, loss)| Some(((loss.operation?, loss.rank?), lane))).collect()
        };
        Origins {
            lanes: lanes(Because::EarlierCall),
            lanes_of_messages: lanes(Because::PointToPoint),
            waits,
            chains_of_messages: BTreeMap::new(),
            kept: vec![Origin::default(); parts],
            keeping: Vec::new(),
            late_by: Vec::new(),
            found: BTreeMap::new(),
        }
    }

    /// Goes through a repetition of an operation; `left`: when each part left its call before; `rank_of`: of a part.
    pub fn look(&mut self, number: usize, walk: &Walk, step: &Step, left: &[[f64; 2]], rank_of: impl Fn(usize) -> u32) {
        for &(at, late) in step.late.iter().filter(|(_, late)| late.in_calls.point_to_point > 0.0) {
            let part = walk.members[at].index;
            let lane = self.lanes_of_messages.get(&(number, rank_of(part)));
            if let Some(&lane) = lane.filter(|_| !self.waits.is_empty()) {
                let longest = within(&self.waits[part], left[part][0], step.call(at).enter)
                    .max_by(|one, other| one.1.total_cmp(&other.1));
                let mut chain: Vec<usize> = longest.map(|(other, _)| other).into_iter().collect();
                if let Some(&other) = chain.first() {
                    chain.extend(waits::chain(self.waits, other, left[part][0], step.call(at).enter));
                }
                *self.chains_of_messages.entry((lane, chain)).or_default() += late.in_calls.point_to_point;
            }
        }
        if self.lanes.is_empty() {
            return;
        }
        for &(at, late) in step.late.iter().filter(|(_, late)| late.earlier_call_ns > 0.0) {
            let part = walk.members[at].index;
            if let Some(&lane) = self.lanes.get(&(number, rank_of(part))) {
                *self.found.entry((lane, self.kept[part])).or_default() += late.earlier_call_ns;
            }
        }
        // Who made each member leave this call when it left.
        let Origins { kept, keeping, late_by, .. } = self;
        late_by.clear();
        late_by.extend(step.late.iter().map(|(_, late)| late.because()));
        let late_by = |at: usize| step.late.iter().position(|(late, _)| *late == at).map(|place| late_by[place]);
        keeping.clear();
        keeping.extend((0..walk.members.len()).map(|at| {
            let parts = &step.parts[at];
            let awaited = step.waited_for(at).filter(|_| 2.0 * parts.waiting > parts.run_time);
            let Some(other) = awaited else {
                let part = walk.members[at].index;
                let in_call = parts.interrupted_by.largest().map(|(because, _)| because);
                let own = |because| Origin { rank: Some(rank_of(part)), because, operation: Some(number) };
                // Others waited for it there: it left late because it came late.
                return match late_by(at).filter(|_| 2.0 * parts.interrupted <= parts.run_time) {
                    Some(Some(Because::EarlierCall)) => kept[part],
                    Some(because) => own(because.or(in_call)),
                    None => own(in_call),
                };
            };
            let part = walk.members[other].index;
            match late_by(other).flatten() {
                Some(Because::EarlierCall) => kept[part],
                because => Origin { rank: Some(rank_of(part)), because, operation: Some(number) },
            }
        }));
        walk.members.iter().zip(&*keeping).for_each(|(member, keeping)| kept[member.index] = *keeping);
    }

    /// The chain of each loss: the rank that is late, and where that begins. Its end is unknown if no origin has more
    /// than half of the time.
    pub fn chains(&self, trace: &Trace, account: &Account, losses: &[Loss]) -> Vec<Vec<Origin>> {
        let chain = |(lane, loss): (usize, &Loss)| {
            if loss.kind != LossKind::LateRank || loss.rank.is_none() {
                return Vec::new();
            }
            let late = Origin { rank: loss.rank, because: loss.because, operation: loss.operation };
            if let Some(end) = account.late_at_finalize.as_ref().filter(|_| loss.at_finalize) {
                return match loss.because {
                    Some(Because::PointToPoint) => through_messages(account, late, &end.chain),
                    Some(Because::EarlierCall) => vec![late, self.kept.get(end.part).copied().unwrap_or_default()],
                    _ => vec![late],
                };
            }
            if let Some(messages) = loss.message.map(|index| &account.late_messages[index]) {
                return through_messages(account, late, &messages.chain);
            }
            if loss.because == Some(Because::PointToPoint) && !self.waits.is_empty() {
                let found = self.chains_of_messages.iter().filter(|((of, _), _)| *of == lane);
                let most = found.max_by(|one, other| one.1.total_cmp(other.1));
                let parts = most.map_or(&[][..], |((_, chain), _)| chain);
                let ranks: Vec<u32> = parts.iter().map(|&part| trace.parts[part].rank()).collect();
                return through_messages(account, late, &ranks);
            }
            if loss.because != Some(Because::EarlierCall) {
                return vec![late];
            }
            let found = self.found.iter().filter(|((of, _), _)| *of == lane);
            let sum: f64 = found.clone().map(|(_, ns)| ns).sum();
            let begin = found.max_by(|one, other| one.1.total_cmp(other.1)).filter(|(_, ns)| 2.0 * **ns > sum);
            vec![late, begin.map_or_else(Origin::default, |((_, origin), _)| *origin)]
        };
        losses.iter().enumerate().map(chain).collect()
    }
}

/// The chain of a rank that others wait for in message calls: where it waits itself it goes on to the rank that it
/// waits for.
fn through_messages(account: &Account, late: Origin, ranks: &[u32]) -> Vec<Origin> {
    if late.because != Some(Because::PointToPoint) {
        return vec![late];
    }
    let last = ranks.len().saturating_sub(1);
    let next = ranks.iter().enumerate().map(|(at, &rank)| {
        let because = if at < last { Some(Because::PointToPoint) } else { of_most(account, rank) };
        Origin { rank: Some(rank), because, operation: None }
    });
    let chain: Vec<Origin> = std::iter::once(late).chain(next).collect();
    if chain.len() > 1 { chain } else { vec![late, Origin::default()] }
}

/// Why others wait for a rank in message calls, for most of the time for which it does not wait itself.
fn of_most(account: &Account, rank: u32) -> Option<Because> {
    let recorded = account.late_messages.iter().filter(|late| late.rank == rank);
    let recorded = recorded.map(|late| (late.waiting_ns - late.point_to_point_ns, late.off));
    let partners = account.late_partners.iter().filter(|late| late.late == rank).map(|late| (late.ns, late.off));
    let (mut computing_ns, mut off) = (0.0, Off::default());
    for (ns, of_one) in recorded.chain(partners) {
        computing_ns += ns - of_one.sum();
        off += of_one;
    }
    let own_off = off.reasons();
    let reasons = own_off.into_iter().chain([(Because::Computing, computing_ns)]);
    reasons.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(because, _)| because)
}
