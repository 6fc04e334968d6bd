//! The time by which a job would be shorter without a loss: the run is replayed without it.
//!
//! Between its calls a rank takes as long as it took, and each call as long as it took from the last arrival of those
//! that its pattern makes it wait for. One pass over the repetitions serves all losses: it carries by how much each
//! rank would be earlier without each of them. Where it is not known for which ranks a call waits, two further models
//! give the least and the most.

mod messages;
mod origin;
mod removal;
mod shifts;
#[cfg(test)]
mod tests;

use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::{Part, Trace};
use serde::Serialize;

use crate::account::exchanges::{self, Exchanges};
use crate::account::sequences::{Sequence, Sequences};
use crate::account::waits::Order;
use crate::account::walk::Step;
use crate::account::{Account, Because, Loss, LossKind, RankAccount, RankPart};
use crate::messages::{MessageWait, Messages};
use origin::Origins;
use removal::{Removals, Repetition};
use shifts::{Bound, Shifts, Taken};

pub use origin::Origin;

/// The time by which the job would be shorter without a loss, seconds, and where the loss begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gain {
    /// By the patterns of the calls; `None`: not known.
    #[serde(rename = "gain_s")]
    pub seconds: Option<f64>,
    /// The least, ...
    #[serde(rename = "gain_least_s")]
    pub least: Option<f64>,
    /// ... and the most, over all ranks that a call may wait for.
    #[serde(rename = "gain_most_s")]
    pub most: Option<f64>,
    /// Why it is not known.
    #[serde(rename = "gain_unknown", skip_serializing_if = "Option::is_none")]
    pub unknown: Option<&'static str>,
    /// From the rank that is late to where that begins. An end without a rank: it is not known. Outputs have it with
    /// call sites.
    #[serde(skip)]
    pub origin: Vec<Origin>,
}

impl Gain {
    /// The gain, or the most that it can be, seconds; 0: nothing is known.
    pub fn likely(&self) -> f64 {
        self.seconds.or(self.most).unwrap_or(0.0)
    }
}

/// Members of all operations together beyond which nothing is replayed: 200 bytes each.
const MOST_MEMBERS: usize = 1 << 20;
/// Calls beyond which no run is replayed call by call: 150 bytes each.
const MOST_CALLS: usize = 1 << 23;
/// So much of the ranks' time may lie in calls in which they wait for others that are not known.
const BETWEEN: f64 = 0.01;
/// Where more of it lies in point-to-point calls, at least so many repetitions have to be of all ranks: between two of
/// them it is known how long a rank waited, and not when.
const JOINT: usize = 20;
/// The end of the unchanged replay may differ from the recorded one by this share of the run.
const TOLERANCE: f64 = 0.001;
/// In this share of the repetitions it may be not known which ranks wait: along the tree of a broadcast they wait for
/// others than the root, so that a delay is late at calls that it does not belong to.
const UNCERTAIN: f64 = 0.05;

/// By how much earlier a run ends on a network on which nothing takes time, ns: each rank leaves its calls as soon as
/// those have entered theirs that it awaits (the ideal network of Dimemas, Wagner et al. 2017). `None`: not known.
pub(crate) fn gain_without_transfer(
    trace: &Trace,
    clock: &Clock,
    operations: &Operations,
    account: &Account,
    messages: &Messages,
) -> Option<f64> {
    let parts = account.rank_parts();
    let recorded = if crate::messages::are_recorded(trace) { 0.0 } else { parts[RankPart::PointToPoint] };
    let beside = recorded + parts.sum_of(&[RankPart::OneSided, RankPart::OtherMpi]);
    if refusal(trace, account, operations).is_some()
        || !clock.is_synchronised()
        || !messages.unmatched.is_empty()
        || beside > BETWEEN * account.rank_ns()
    {
        return None;
    }
    let calls = operations.operations.iter().filter(|operation| !operation.key.is_region);
    let calls: usize = calls.map(|operation| operation.repetitions() * operation.parts.len()).sum();
    if calls + messages.calls.iter().map(Vec::len).sum::<usize>() > MOST_CALLS {
        return None;
    }
    messages::Replay::new(trace, clock, operations, messages).gain_without_transfer()
}

/// The gain without each of these losses.
pub fn gains(trace: &Trace, clock: &Clock, operations: &Operations, account: &Account, losses: &[Loss]) -> Vec<Gain> {
    let messages = Messages::new(trace, clock, operations);
    let waits = messages.waits(trace, clock);
    gains_of(trace, clock, operations, account, losses, &messages, &waits)
}

/// The gain without each of these losses, where the messages and their waits are known.
pub(crate) fn gains_of(
    trace: &Trace,
    clock: &Clock,
    operations: &Operations,
    account: &Account,
    losses: &[Loss],
    messages: &Messages,
    waits: &[Vec<MessageWait>],
) -> Vec<Gain> {
    if losses.is_empty() {
        return Vec::new();
    }
    let (shifts, inexact, origins) = match refusal(trace, account, operations) {
        None => {
            let mut replay = Replay::new(trace, clock, operations, account, losses, waits);
            (replay.run(account), replay.inexact, replay.origins)
        }
        Some(why) => (Err(why), None, Origins::new(losses, 0, &[])),
    };
    let of_messages = messages::gains(trace, clock, operations, account, losses, messages, waits);
    let seconds = |ns: f64| Some(ns.max(0.0) / 1e9);
    let gain = |lane: usize| match (&shifts, losses[lane].operation) {
        _ if losses[lane].kind == LossKind::Hung => without_hanging(account),
        _ if losses[lane].at_finalize => {
            let gain_ns = account.late_at_finalize.as_ref().map(|late| late.gain_ns(losses[lane].ns));
            Gain { seconds: gain_ns.map(|ns| ns / 1e9), ..Gain::default() }
        }
        _ if of_messages[lane].is_some() => of_messages[lane].clone().unwrap_or_default(),
        (Err(why), _) => Gain { unknown: Some(why), ..Gain::default() },
        (_, None) if !is_between(&losses[lane]) => {
            Gain { unknown: Some("outside of collective calls"), ..Gain::default() }
        }
        (Ok([least, likely, most]), _) => Gain {
            seconds: seconds(likely[lane]).filter(|_| inexact.is_none()),
            unknown: inexact,
            least: seconds(least[lane].min(likely[lane])),
            most: seconds(most[lane].max(likely[lane])),
            ..Gain::default()
        },
    };
    let gain = |lane: usize| bounded(gain(lane), &losses[lane], account);
    let chains = origins.chains(trace, account, losses);
    (0..).map(gain).zip(chains).map(|(gain, origin)| Gain { origin, ..gain }).collect()
}

/// A gain that is not known lies between 0 and the time that a rank has lost at most.
fn bounded(gain: Gain, loss: &Loss, account: &Account) -> Gain {
    if gain.seconds.is_some() || gain.most.is_some() {
        return gain;
    }
    let longest = account.ranks.iter().map(|rank| rank.wall_ns).fold(0.0, f64::max);
    let outside = match (loss.kind, loss.because) {
        (LossKind::PointToPoint, _) => Some(RankPart::PointToPoint),
        (LossKind::OneSided, _) => Some(RankPart::OneSided),
        (LossKind::Interrupted, Some(Because::Preempted)) => Some(RankPart::Preempted),
        (LossKind::Interrupted, Some(Because::Asleep)) => Some(RankPart::Asleep),
        (LossKind::Interrupted, Some(Because::Throttled)) => Some(RankPart::Throttled),
        _ => None,
    };
    let of_all = outside.filter(|_| loss.rank.is_none() && loss.operation.is_none());
    let ranks = account.ranks.iter().filter(|rank| !loss.except.contains(&rank.rank));
    let of_ranks = of_all.map(|part| ranks.map(|rank| rank.parts[part]).fold(0.0, f64::max));
    let most = of_ranks.unwrap_or(longest).min(loss.ns).min(longest);
    Gain { least: Some(0.0), most: Some(most / 1e9), ..gain }
}

/// The gain where the job had been ended as soon as its ranks hung.
fn without_hanging(account: &Account) -> Gain {
    let longest = |of: fn(&RankAccount) -> f64| account.ranks.iter().map(of).fold(0.0, f64::max);
    let gain_ns = longest(|rank| rank.wall_ns) - longest(|rank| rank.wall_ns - rank.parts[RankPart::Hung]);
    Gain { seconds: Some(gain_ns.max(0.0) / 1e9), ..Gain::default() }
}

/// True: the loss lies between the collective calls of a rank, and is known call by call.
fn is_between(loss: &Loss) -> bool {
    match loss.kind {
        LossKind::PointToPoint => loss.because.is_some() && loss.partner.is_some(),
        LossKind::Interrupted => loss.operation.is_none(),
        _ => false,
    }
}

/// Why a run cannot be replayed.
fn refusal(trace: &Trace, account: &Account, operations: &Operations) -> Option<&'static str> {
    let members: usize = account.operations.iter().map(|operation| operation.ranks.len()).sum();
    let threads = |part: &Part| part.runs().iter().filter(|run| run.count > 0).map(|run| run.thread).max() > Some(0);
    let not_kept = Part::lacks_calls;
    let one_sided = account.rank_parts()[RankPart::OneSided];
    match () {
        () if !trace.complete => Some("the trace is not complete"),
        () if trace.parts.iter().any(not_kept) => Some("not all calls are kept"),
        () if operations.mismatched() > 0 => Some("some calls do not match"),
        () if !trace.parts.iter().all(Part::waits_are_stamped) => Some("point-to-point calls were not timed"),
        () if trace.parts.iter().any(threads) => Some("several threads of a rank make collective calls"),
        () if one_sided > BETWEEN * account.rank_ns() => Some("one-sided calls lie between the collective ones"),
        () if members > MOST_MEMBERS => Some("too many ranks and operations"),
        () => None,
    }
}

/// When each part entered MPI_Finalize, else the last that is known of it, global time, ns.
fn ends(trace: &Trace, clock: &Clock) -> Vec<f64> {
    let end = |(index, part): (usize, &Part)| {
        let tick = part.finalize_enter().unwrap_or(part.info().last_anchor.tick);
        clock.of_part(index).nanoseconds(tick)
    };
    trace.parts.iter().enumerate().map(end).collect()
}

/// A run that is replayed.
struct Replay<'a> {
    sequences: Sequences<'a>,
    /// By sequence: what its repetitions lose.
    removals: Vec<Removals>,
    step: Step<'a>,
    /// For each part when it left its last call, as recorded and as replayed, ns.
    left: Vec<[f64; 2]>,
    /// When each part entered MPI_Finalize, ns.
    ends: Vec<f64>,
    /// How long the longest one took, ns.
    run_ns: f64,
    likely: Shifts,
    origins: Origins<'a>,
    ranks: Vec<u32>,
    /// Why only the least and the most are known.
    inexact: Option<&'static str>,
    exchanges: Exchanges,
    /// The other models, from where on they differ.
    bounds: Option<[Shifts; 2]>,
}

impl<'a> Replay<'a> {
    fn new(
        trace: &'a Trace,
        clock: &'a Clock,
        operations: &'a Operations,
        account: &Account,
        losses: &[Loss],
        waits: &'a [Vec<MessageWait>],
    ) -> Replay<'a> {
        let begin = |(index, part): (usize, &Part)| clock.of_part(index).nanoseconds(part.info().first_anchor.tick);
        let parts = trace.parts.iter().enumerate();
        let is_lost = |number: usize, loss: &Loss| loss.operation == Some(number) || is_between(loss);
        let has_exchanges = account.rank_parts()[RankPart::PointToPoint] > 0.0;
        let sequences = Sequences::of_run(trace, clock, operations, |number| {
            account.operations[number].ranks.len() > 1
                || has_exchanges
                || losses.iter().any(|loss| is_lost(number, loss))
        });
        let of_sequence = |Sequence { number, walk, .. }: &Sequence| {
            let lanes = losses.iter().enumerate().filter(|(_, loss)| is_lost(*number, loss));
            let rank_of = |index: usize| trace.parts[index].rank();
            Removals::new(lanes, walk, rank_of)
        };
        Replay {
            removals: sequences.all.iter().map(of_sequence).collect(),
            sequences,
            step: Step::of_parts(trace),
            left: parts.map(begin).map(|begin| [begin; 2]).collect(),
            ends: ends(trace, clock),
            run_ns: account.ranks.iter().map(|rank| rank.wall_ns).fold(0.0, f64::max),
            likely: Shifts::new(trace.parts.len(), losses.len()),
            origins: Origins::new(losses, trace.parts.len(), waits),
            ranks: trace.parts.iter().map(Part::rank).collect(),
            inexact: None,
            exchanges: Exchanges::new(trace, &account.partners),
            bounds: None,
        }
    }

    /// By how much earlier the run ends without each loss, ns: the least, the likely and the most. Else why it is not
    /// known.
    fn run(&mut self, account: &Account) -> Result<[Vec<f64>; 3], &'static str> {
        let (mut calls, mut before, mut inside) = (Vec::new(), Vec::new(), Vec::new());
        let mut joint = 0;
        // Of them those in which it is not known which ranks wait.
        let (mut repetitions, mut uncertain) = (0usize, 0usize);
        while let Some(slot) = self.sequences.pop() {
            let Sequence { number, walk, rows, place, .. } = &self.sequences.all[slot];
            self.step.look(walk, rows.get(*place));
            calls.clear();
            calls.extend(walk.members.iter().enumerate().map(|(at, member)| {
                let call = self.step.call(at);
                let exit = call.waits_from + call.may_wait;
                Taken { part: member.index, enter: call.enter, waits_from: call.waits_from, exit }
            }));
            if calls.iter().any(|call| call.enter < self.left[call.part][0]) {
                return Err("non-blocking calls overlap with other calls");
            }
            before.clear();
            inside.clear();
            self.exchanges.look(walk, &self.step);
            let (step, left, account) = (&self.step, &self.left[..], &account.operations[*number]);
            let repetition =
                Repetition { walk, step, calls: &calls, account, place: *place, left, exchanges: &self.exchanges };
            self.removals[slot].of_repetition(&repetition, &mut before, &mut inside);
            let (order, parts) = (walk.order, self.left.len());
            repetitions += 1;
            joint += usize::from(calls.len() == parts && matches!(order, Some(Order::All | Order::MostlyAll)));
            let is_certain = Shifts::is_certain(order, calls.len());
            uncertain += usize::from(!is_certain);
            if !is_certain || !self.exchanges.all.is_empty() {
                let bounded = |bound| self.likely.bounded(bound);
                self.bounds.get_or_insert_with(|| [Bound::Least, Bound::Most].map(bounded));
            }
            self.likely.call(order, &calls, &self.exchanges, &before, &inside);
            if let Some([least, most]) = &mut self.bounds {
                [&mut *least, &mut *most]
                    .into_iter()
                    .for_each(|one| one.call(order, &calls, &self.exchanges, &before, &inside));
                // All have waited for all: nothing is left of what was not known.
                if calls.len() == parts && least.agrees(most) && most.agrees(&self.likely) {
                    self.bounds = None;
                }
            }
            self.origins.look(*number, walk, &self.step, &self.left, |part| self.ranks[part]);
            go_on(&mut self.left, order == Some(Order::All), &calls);
            self.sequences.advance(slot);
        }
        if !self.sequences.is_at_end() {
            return Err("the calls of the ranks have no common order");
        }
        if self.left.iter().any(|[recorded, replayed]| (replayed - recorded).abs() > TOLERANCE * self.run_ns) {
            return Err("the recorded times contradict each other");
        }
        self.ends.iter_mut().zip(&self.left).for_each(|(end, [left, _])| *end = end.max(*left));
        if uncertain as f64 > UNCERTAIN * repetitions as f64 {
            return Err("too many calls in which it is not known which ranks wait");
        }
        let point_to_point = account.rank_parts()[RankPart::PointToPoint] > BETWEEN * account.rank_ns();
        if point_to_point && joint < JOINT {
            return Err("too few collective calls lie between the point-to-point ones");
        }
        if self.exchanges.elsewhere_ns > BETWEEN * account.rank_ns() {
            self.inexact = Some("messages and collective calls are of different ranks");
        } else if point_to_point && exchanges::are_several(&account.partners, joint) {
            self.inexact = Some("several exchanges of messages lie between two collective calls");
        }
        let at_end = |shifts: &Shifts| shifts.at_end(&self.ends);
        let likely = at_end(&self.likely);
        Ok(match &self.bounds {
            None => [likely.clone(), likely.clone(), likely],
            Some([least, most]) => [at_end(least), likely, at_end(most)],
        })
    }
}

/// Replays a call without any change. `all`: no rank leaves it before all have entered.
fn go_on(left: &mut [[f64; 2]], all: bool, calls: &[Taken]) {
    let entered = |left: &[[f64; 2]], call: &Taken| left[call.part][1] + (call.enter - left[call.part][0]);
    let last = calls.iter().map(|call| call.enter).fold(f64::NEG_INFINITY, f64::max);
    let replayed = calls.iter().map(|call| entered(left, call)).fold(f64::NEG_INFINITY, f64::max);
    for call in calls {
        let entered = entered(left, call);
        let exit = match all {
            true => {
                let from = (entered + (call.waits_from - call.enter)).max(replayed);
                from + (call.exit - call.waits_from.max(last)).max(0.0)
            }
            false => entered + (call.exit - call.enter),
        };
        left[call.part] = [call.exit, exit];
    }
}
