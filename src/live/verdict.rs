//! Why a job does not go on: a function of a snapshot alone.
//!
//! A rank that is inside a collective call waits for the members of the communicator that have not begun theirs, one in
//! a point-to-point call for the other ranks of its messages. From each rank that has waited for long enough these ways
//! are followed to the ranks at their ends, which are the cause: one that has ended, was stopped, waits in a circle,
//! loops, sleeps, or is in a point-to-point call of which the other rank is not known. As long as one of the ranks at
//! the ends moves there is no verdict: the others may be waiting for it. Only where ranks wait for each other and for
//! no other one (`knot`) others may move.
//!
//! A call for several messages lists those that are complete already too, so that any one of its partners may be the
//! one that it waits for: whether it returns with one of them or with all, it is held only if all of its partners are.

use mpitrace_functions::{Function, Pattern};
use mpitrace_statistics::names::names;
use mpitrace_trace::operations::Mismatch;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::knot::{knot, reached_through};
use super::snapshot::{MessageWait, Partner, RankNow, Snapshot, State, Wait};

/// Why a job does not go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Stuck {
    /// The kind of the cause.
    pub kind: StuckKind,
    /// World ranks that are the cause, ascending: of a mismatch those that call something else than most ranks.
    pub ranks: Vec<u32>,
    /// Index into [`Snapshot::communicators`]: where other ranks wait for them.
    pub communicator: Option<usize>,
    /// The call on that communicator, from 0; `None` beside a communicator: a message.
    pub sequence: Option<u64>,
    /// For so long none of the ranks of the verdict has moved, s.
    pub seconds: f64,
}

/// Kinds of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StuckKind {
    /// A rank has not come, and does not compute: it sleeps, or is in another part of MPI.
    MissingRank,
    /// Calls that do not belong together.
    Mismatch,
    /// Ranks wait for each other: on several communicators, or for messages.
    Cycle,
    /// The process of a rank has ended.
    DeadRank,
    /// The process of a rank was stopped.
    StoppedRank,
    /// A rank has not come, and computes all the time.
    EndlessLoop,
    /// A rank has not come, and is in a point-to-point call.
    PointToPoint,
}

names!(StuckKind {
    MissingRank => "missing-rank",
    Mismatch => "mismatch",
    Cycle => "cycle",
    DeadRank => "dead-rank",
    StoppedRank => "stopped-rank",
    EndlessLoop => "endless-loop",
    PointToPoint => "point-to-point",
});

/// Why the job does not go on, if some of its ranks have waited for `stuck_s` seconds for ranks that will not come or
/// have not moved for so long either.
pub fn verdict(snapshot: &Snapshot, stuck_s: f64) -> Option<Stuck> {
    let graph = Graph::new(snapshot, stuck_s);
    let mut waiting: Vec<u32> = graph.waiting().collect();
    waiting.sort_by(|one, other| graph.unmoved(*other).total_cmp(&graph.unmoved(*one)));
    // Ranks that wait in the same collective calls alone wait for the same ranks: one of them is looked at.
    let mut calls = HashSet::new();
    waiting.retain(|rank| graph.partners.contains_key(rank) || calls.insert(&graph.ranks[rank].waits));
    let found = waiting.into_iter().find_map(|rank| graph.cause_of(rank)).or_else(|| graph.cause_without_collectives());
    // A rank that is not seen may be the one that the call waits for, and may be computing.
    let found = found.filter(|stuck| stuck.kind != StuckKind::PointToPoint || !snapshot.has_unseen());
    with_deaths(snapshot, found)
}

/// The verdict on a job that is known to have died: where those that were left wait for each other that is so
/// all the same, what else they wait for follows from the death.
fn with_deaths(snapshot: &Snapshot, found: Option<Stuck>) -> Option<Stuck> {
    let died: Vec<u32> = snapshot.ranks.iter().filter(|rank| rank.has_died()).map(|rank| rank.rank).collect();
    let was_aborted = snapshot.ranks.iter().any(|rank| rank.state == State::Abort);
    // Where the library ended the job, some call was wrong, and the others are where they were just then.
    let by_library =
        snapshot.ended_by_launcher().is_some() || snapshot.ranks.iter().any(|rank| snapshot.was_ended_by_library(rank));
    let is_of_its_own =
        |stuck: &Stuck| stuck.kind == StuckKind::Mismatch || stuck.kind == StuckKind::Cycle && !by_library;
    if was_aborted || found.as_ref().is_some_and(is_of_its_own) {
        return found;
    }
    if died.is_empty() {
        return found.filter(|_| snapshot.ended_by_launcher().is_none());
    }
    let (communicator, sequence) = found.map_or((None, None), |found| (found.communicator, found.sequence));
    Some(Stuck { kind: StuckKind::DeadRank, ranks: died, communicator, sequence, seconds: f64::INFINITY })
}

/// True if a rank is where it makes no collective call any more.
pub(super) fn never_comes(rank: &RankNow) -> bool {
    matches!(rank.state, State::Finalize | State::Abort | State::Ended)
}

/// True if no library leaves the call before all have entered it.
pub(super) fn waits_for_all(wait: &Wait) -> bool {
    wait.function.and_then(Function::named).is_some_and(|function| function.pattern == Pattern::AllToAll)
}

/// The other ranks of the messages that a rank waits for, each once; `None`: they are not all known.
pub(super) fn partners(snapshot: &Snapshot, rank: &RankNow) -> Option<Vec<u32>> {
    let of = |message: &MessageWait| match message.partner {
        Partner::Rank(other) => Some(vec![other]),
        Partner::Any => {
            let communicator = snapshot.communicators.get(message.communicator?)?;
            let others = communicator.members.iter().map(|(other, _)| *other).filter(|&other| other != rank.rank);
            (communicator.members.len() == communicator.size as usize).then(|| others.collect())
        }
        Partner::Member(_) | Partner::Unknown => None,
    };
    let all: Option<Vec<Vec<u32>>> = rank.messages.iter().map(of).collect();
    let all: BTreeSet<u32> = all?.into_iter().flatten().collect();
    (!all.is_empty() && !rank.has_more_messages).then(|| all.into_iter().collect())
}

/// A collective call, and the ranks that have not come to it: one list for all that wait there.
type Missing = (Wait, Rc<[u32]>);

struct Graph<'s> {
    snapshot: &'s Snapshot,
    stuck_s: f64,
    ranks: BTreeMap<u32, &'s RankNow>,
    /// For each rank that waits in collective calls, these with the ranks that have not come.
    missing: BTreeMap<u32, Vec<Missing>>,
    /// For each rank that waits for messages, the other ranks of these, where all are known.
    partners: BTreeMap<u32, Vec<u32>>,
    /// Ranks of which each message may be under way.
    transfers: BTreeSet<u32>,
}

impl<'s> Graph<'s> {
    fn new(snapshot: &'s Snapshot, stuck_s: f64) -> Graph<'s> {
        let ranks: BTreeMap<u32, &RankNow> = snapshot.ranks.iter().map(|rank| (rank.rank, rank)).collect();
        let alive = || snapshot.ranks.iter().filter(|rank| rank.state.is_alive());
        let mut of_call: HashMap<Wait, Rc<[u32]>> = HashMap::new();
        let missing = alive().map(|rank| {
            let mut of = |wait| of_call.entry(wait).or_insert_with(|| snapshot.missing(rank.rank, wait).into()).clone();
            (rank.rank, rank.waits.iter().map(|&wait| (wait, of(wait))).collect())
        });
        let is_matched = |rank: &&RankNow| rank.messages.iter().all(|wait| snapshot.is_matched(rank.rank, wait));
        let transfers = alive().filter(|rank| !rank.messages.is_empty() && !rank.has_more_messages).filter(is_matched);
        let partners = alive().filter_map(|rank| Some((rank.rank, partners(snapshot, rank)?)));
        Graph {
            snapshot,
            stuck_s,
            missing: missing.collect(),
            partners: partners.collect(),
            transfers: transfers.map(|rank| rank.rank).collect(),
            ranks,
        }
    }

    fn unmoved(&self, rank: u32) -> f64 {
        self.ranks.get(&rank).map_or(0.0, |rank| rank.unmoved_s)
    }

    /// True if the rank has not moved for long, and no message of its can be under way.
    fn has_stood(&self, rank: u32) -> bool {
        self.unmoved(rank) >= self.stuck_s && !self.transfers.contains(&rank)
    }

    /// The ranks that have waited for others for long enough.
    fn waiting(&self) -> impl Iterator<Item = u32> + '_ {
        let is_waiting = |rank: &u32| {
            self.partners.contains_key(rank) || self.missing.get(rank).is_some_and(|waits| !waits.is_empty())
        };
        self.ranks.keys().copied().filter(is_waiting).filter(|&rank| self.has_stood(rank))
    }

    fn missing_of(&self, rank: u32) -> impl Iterator<Item = u32> + '_ {
        self.missing.get(&rank).into_iter().flatten().flat_map(|(_, missing)| missing.iter().copied())
    }

    fn waits_for(&self, rank: u32) -> impl Iterator<Item = u32> + '_ {
        self.missing_of(rank).chain(self.partners.get(&rank).into_iter().flatten().copied())
    }

    fn only_partner(&self, rank: u32) -> Option<u32> {
        self.partners.get(&rank).filter(|partners| partners.len() == 1)?.first().copied()
    }

    /// True if a rank that others wait for waits itself, for ranks that may come. One in Finalize does not come.
    fn goes_on_waiting(&self, rank: u32) -> bool {
        self.ranks.get(&rank).is_some_and(|now| now.state != State::Finalize)
            && (self.waits_for(rank).next().is_some() || self.waits_for_unknown(rank))
    }

    /// True if it waits on a communicator of which not all members are known. Those may be in the call still that makes
    /// it.
    fn waits_for_unknown(&self, rank: u32) -> bool {
        let mut waits = self.missing.get(&rank).into_iter().flatten();
        waits.any(|(wait, _)| self.snapshot.has_unknown_members(*wait))
    }

    /// All ranks that this one waits for, directly or through others.
    fn reached_from(&self, rank: u32) -> BTreeSet<u32> {
        reached_through(rank, |other| self.goes_on_waiting(other), |rank| self.waits_for(rank).collect())
    }

    /// The ranks without which it does not go on.
    fn needed_by(&self, rank: u32) -> BTreeSet<u32> {
        let needed = |rank: u32| self.missing_of(rank).chain(self.only_partner(rank)).collect();
        reached_through(rank, |other| self.goes_on_waiting(other), needed)
    }

    fn cause_of(&self, waiting: u32) -> Option<Stuck> {
        let reached = self.reached_from(waiting);
        if let Some(mismatch) = self.mismatch(waiting, &reached) {
            return Some(mismatch);
        }
        if reached.is_empty() {
            return self.gone_from_the_call(waiting);
        }
        let needed = self.needed_by(waiting);
        if let Some((kind, ranks)) = self.gone(&needed) {
            return Some(self.stuck(kind, ranks, waiting, &reached));
        }
        if let Some(knot) = self.knot(&reached) {
            return Some(self.stuck(StuckKind::Cycle, knot, waiting, &reached));
        }
        // Not every function waits for all ranks that have not come: one that moves may end the circle.
        let all_stand = reached.iter().all(|&rank| self.has_stood(rank) || !self.is_alive(rank));
        if let Some(circle) = self.circle(waiting, &reached).filter(|_| all_stand) {
            return Some(self.stuck(StuckKind::Cycle, circle, waiting, &reached));
        }
        let waiting_there = || needed.iter().copied().chain([waiting]).filter(|&rank| self.has_stood(rank));
        let absent: BTreeSet<u32> = waiting_there().flat_map(|rank| self.missing_of(rank)).collect();
        if let Some(ranks) = self.those(&absent, never_comes) {
            return Some(self.stuck(StuckKind::MissingRank, ranks, waiting, &reached));
        }
        // Their message never comes.
        let partners = |rank: &RankNow| self.partners.get(&rank.rank);
        let is_over = |rank: &RankNow| partners(rank).is_some_and(|all| all.iter().all(|&other| self.is_over(other)));
        if let Some(ranks) = self.those(&waiting_there().collect(), is_over) {
            return Some(self.stuck(StuckKind::PointToPoint, ranks, waiting, &reached));
        }
        if !all_stand {
            return None;
        }
        let ends: BTreeSet<u32> = reached.iter().copied().filter(|&rank| !self.goes_on_waiting(rank)).collect();
        let (kind, ranks) = self.gone(&ends).or_else(|| self.cause_among(&ends))?;
        Some(self.stuck(kind, ranks, waiting, &reached))
    }

    fn is_alive(&self, rank: u32) -> bool {
        self.ranks.get(&rank).is_some_and(|rank| rank.state.is_alive())
    }

    fn is_over(&self, rank: u32) -> bool {
        self.ranks.get(&rank).is_some_and(|rank| never_comes(rank))
    }

    /// The ranks that have ended, else those that are stopped.
    fn gone(&self, ranks: &BTreeSet<u32>) -> Option<(StuckKind, Vec<u32>)> {
        let is = |state: State| self.those(ranks, |rank| rank.state == state);
        let dead = is(State::Dead).map(|dead| (StuckKind::DeadRank, dead));
        dead.or_else(|| Some((StuckKind::StoppedRank, is(State::Stopped)?)))
    }

    /// Ranks among these that wait for each other whatever all others do: each of them waits in a call that no library
    /// leaves before all have entered it, or for messages of such ranks, and of ranks that send none any more.
    fn knot(&self, reached: &BTreeSet<u32>) -> Option<Vec<u32>> {
        let standing: BTreeSet<u32> = reached.iter().copied().filter(|&rank| self.has_stood(rank)).collect();
        let ways = |rank: u32, held: &BTreeSet<u32>| -> Vec<u32> {
            let partners = self.partners.get(&rank).into_iter().flatten();
            let all_held = partners.clone().all(|other| held.contains(other) || self.is_over(*other));
            let strict = self.missing.get(&rank).into_iter().flatten().filter(|(wait, _)| waits_for_all(wait));
            let missing = strict.flat_map(|(_, missing)| missing.iter()).filter(|other| held.contains(other));
            missing.chain(partners.filter(|other| all_held && held.contains(other))).copied().collect()
        };
        knot(standing, |rank| self.waits_for(rank).collect(), ways)
    }

    /// The cause among ranks that do not move.
    fn cause_among(&self, ranks: &BTreeSet<u32>) -> Option<(StuckKind, Vec<u32>)> {
        let loops = |rank: &RankNow| rank.state == State::Computing && rank.uses_processor == Some(true);
        if let Some(found) = self.those(ranks, loops) {
            return Some((StuckKind::EndlessLoop, found));
        }
        if let Some(found) = self.those(ranks, |rank| !rank.in_point_to_point) {
            return Some((StuckKind::MissingRank, found));
        }
        Some((StuckKind::PointToPoint, self.those(ranks, |rank| rank.in_point_to_point)?))
    }

    fn those(&self, ranks: &BTreeSet<u32>, is: impl Fn(&RankNow) -> bool) -> Option<Vec<u32>> {
        let found: Vec<u32> =
            ranks.iter().copied().filter(|rank| self.ranks.get(rank).is_some_and(|rank| is(rank))).collect();
        (!found.is_empty()).then_some(found)
    }

    /// Where all have come and the call does not end: members that have ended, or were stopped inside it.
    fn gone_from_the_call(&self, waiting: u32) -> Option<Stuck> {
        let (wait, _) = self.missing.get(&waiting)?.first()?;
        let members: BTreeSet<u32> = self.snapshot.members(*wait).into_iter().collect();
        let (kind, ranks) = self.gone(&members)?;
        let Wait { communicator, sequence, .. } = *wait;
        Some(Stuck { kind, ranks, communicator, sequence, seconds: self.unmoved(waiting) })
    }

    /// The mismatch at a call in which the rank, or one that it waits for, is.
    fn mismatch(&self, waiting: u32, reached: &BTreeSet<u32>) -> Option<Stuck> {
        let ranks = reached.iter().copied().filter(|&rank| self.has_stood(rank)).chain([waiting]);
        let waits: Vec<Wait> =
            ranks.filter_map(|rank| self.missing.get(&rank)).flatten().map(|(wait, _)| *wait).collect();
        let found = self.snapshot.mismatches.iter().find(|mismatch| {
            let at = (Some(mismatch.communicator_id), Some(mismatch.sequence));
            waits.iter().any(|wait| (wait.communicator, wait.sequence) == at)
        })?;
        if let Some(stuck) = self.freed_in_finalize(found, waiting) {
            return Some(stuck);
        }
        let largest = found.calls.iter().map(|call| call.ranks.len()).max()?;
        let is_alone = found.calls.iter().filter(|call| call.ranks.len() == largest).count() == 1;
        let others = found.calls.iter().filter(|call| !is_alone || call.ranks.len() < largest);
        let mut ranks: Vec<u32> = others.flat_map(|call| &call.ranks).copied().collect();
        ranks.sort_unstable();
        Some(Stuck {
            kind: StuckKind::Mismatch,
            ranks,
            communicator: Some(found.communicator_id),
            sequence: Some(found.sequence),
            seconds: self.unmoved(waiting),
        })
    }

    /// Ranks of a mismatch that are in `MPI_Finalize`, or through it, where they have freed the communicator of the others'
    /// call, as an interpreter does after an exception: they do not come any more.
    fn freed_in_finalize(&self, found: &Mismatch, waiting: u32) -> Option<Stuck> {
        let waits_for_none = |function: &str| Function::named(function).is_some_and(|of| of.pattern == Pattern::None);
        let is_over =
            |rank: &u32| self.ranks.get(rank).is_some_and(|rank| matches!(rank.state, State::Finalize | State::Ended));
        let over = found.calls.iter().filter(|call| waits_for_none(&call.function) && call.ranks.iter().all(is_over));
        let mut ranks: Vec<u32> = over.flat_map(|call| &call.ranks).copied().collect();
        ranks.sort_unstable();
        let (communicator, sequence) = (Some(found.communicator_id), Some(found.sequence));
        let seconds = self.unmoved(waiting);
        (!ranks.is_empty()).then_some(Stuck { kind: StuckKind::MissingRank, ranks, communicator, sequence, seconds })
    }

    /// Ranks that wait for each other: those of the first circle that is reached, ascending.
    fn circle(&self, waiting: u32, reached: &BTreeSet<u32>) -> Option<Vec<u32>> {
        let is_in_it = |rank: u32| self.has_stood(rank) && self.goes_on_waiting(rank);
        // One of several that does not wait itself may be the one that a rank waits for.
        let waits_for = |rank: u32| {
            let partners = self.partners.get(&rank).filter(|partners| partners.iter().all(|&other| is_in_it(other)));
            self.missing_of(rank).chain(partners.into_iter().flatten().copied()).collect()
        };
        let reached_from = |rank: u32| reached_through(rank, is_in_it, waits_for);
        let candidates = reached.iter().copied().chain([waiting]).filter(|&rank| is_in_it(rank));
        // Ranks reach each other where they are in one circle, or in several that share a rank.
        let mut circles = candidates.filter_map(|rank| {
            let from = reached_from(rank);
            let is_mutual = |other: &u32| is_in_it(*other) && reached_from(*other).contains(&rank);
            from.contains(&rank).then(|| from.iter().copied().filter(is_mutual).collect::<Vec<u32>>())
        });
        circles.next()
    }

    /// The verdict on these ranks, at the call in which others wait for them.
    fn stuck(&self, kind: StuckKind, ranks: Vec<u32>, waiting: u32, reached: &BTreeSet<u32>) -> Stuck {
        let places = || [waiting].into_iter().chain(reached.iter().copied());
        let call = places().find_map(|rank| self.call_that_waits(rank, &ranks));
        let place = call.or_else(|| places().find_map(|rank| self.message_that_waits(rank, &ranks)));
        // A rank that has ended, or never comes, need not stand still.
        let may_come = |rank: &RankNow| rank.state.is_alive() && !never_comes(rank);
        let seconds = ranks.iter().filter(|rank| self.ranks.get(rank).is_some_and(|rank| may_come(rank)));
        let seconds = seconds.map(|&rank| self.unmoved(rank)).fold(self.unmoved(waiting), f64::min);
        let (communicator, sequence) = place.unwrap_or_default();
        Stuck { kind, ranks, communicator, sequence, seconds }
    }

    /// The communicator and the call in which a rank waits for one of these.
    fn call_that_waits(&self, rank: u32, ranks: &[u32]) -> Option<(Option<usize>, Option<u64>)> {
        let mut waits = self.missing.get(&rank).into_iter().flatten();
        let (wait, _) = waits.find(|(_, missing)| missing.iter().any(|rank| ranks.contains(rank)))?;
        Some((wait.communicator, wait.sequence))
    }

    /// The communicator of the message by which a rank waits for one of these, or is one of them.
    fn message_that_waits(&self, rank: u32, ranks: &[u32]) -> Option<(Option<usize>, Option<u64>)> {
        let message = self.ranks.get(&rank)?.messages.first()?;
        let mut ends = self.partners.get(&rank)?.iter().chain([&rank]);
        ends.any(|rank| ranks.contains(rank)).then_some((message.communicator, None))
    }

    /// Where nothing else is found: all have stood for long, and some of them in a call that waits for some other rank.
    fn cause_without_collectives(&self) -> Option<Stuck> {
        let all: BTreeSet<u32> = self.ranks.keys().copied().collect();
        let is_at_rest = |rank: &&RankNow| rank.unmoved_s >= self.stuck_s || !rank.state.is_alive();
        let is_held = |rank: &RankNow| rank.waits_for_some_rank() && rank.state.is_alive();
        if !self.snapshot.ranks.iter().all(|rank| is_at_rest(&rank)) {
            return None;
        }
        let held = self.those(&all, is_held)?;
        let seconds = held.iter().map(|&rank| self.unmoved(rank)).fold(f64::INFINITY, f64::min);
        let (kind, ranks) = match self.gone(&all) {
            Some(gone) => gone,
            None => {
                // One that waits for others in a collective call is not what they wait for.
                let waits = |rank: &RankNow| self.missing_of(rank.rank).next().is_some();
                let open = |rank: &RankNow| rank.state != State::Ended && !waits(rank);
                self.cause_among(&self.those(&all, open)?.into_iter().collect())?
            }
        };
        Some(Stuck { kind, ranks, communicator: None, sequence: None, seconds })
    }
}
