//! The gain without a delay for which ranks wait in message calls: the run is replayed message by message.
//!
//! All entries and exits of calls are gone through in the order of their times. A rank that leaves a call at
//! `max(own, awaited) + c` does so, with each of these earlier by its shift, earlier by as much as the later of them is. A
//! receive waits for the call that sends, a send for the receive if that was posted while it lasted, a collective for
//! those that its pattern names.

use std::collections::HashMap;

use super::Gain;
use crate::account::waits::Order;
use crate::account::walk::Walk;
use crate::account::{Account, Because, Loss};
use crate::clock::Clock;
use crate::messages::waits::within;
use crate::messages::{MessageWait, Messages, each_call};
use crate::operations::{CallSite, Operations};
use crate::reader::{Part, Trace};
use crate::statistics::median;

/// Shifts that are kept at once: 8 bytes each.
const MOST: usize = 1 << 25;

/// A call of a part, global time, ns.
struct Call {
    part: usize,
    enter: f64,
    exit: f64,
    awaited: Vec<usize>,
    /// For each lane how much earlier the part enters.
    shifts: Vec<f64>,
}

/// The gains without these losses; `None`: of another kind.
pub(super) fn gains(
    trace: &Trace,
    clock: &Clock,
    operations: &Operations,
    account: &Account,
    losses: &[Loss],
) -> Vec<Option<Gain>> {
    let is_of_messages = |loss: &Loss| loss.message.is_some() && loss.rank.is_some();
    if !losses.iter().any(is_of_messages) {
        return vec![None; losses.len()];
    }
    let messages = Messages::of(trace, clock, operations);
    let waits = messages.waits(trace, clock);
    let lanes: Vec<usize> = (0..losses.len()).filter(|&lane| is_of_messages(&losses[lane])).collect();
    let unknown = |why| Some(Gain { unknown: Some(why), ..Gain::default() });
    let mut replay = Replay::new(trace, clock, operations, &messages);
    let refused = match () {
        () if !trace.complete => Some("the trace is not complete"),
        () if trace.parts.iter().any(|part| part.dropped() > 0 || part.paused() > 0) => Some("not all calls are kept"),
        () if !messages.unmatched.is_empty() => Some("not all messages are known"),
        () if 2 * replay.calls.len() * lanes.len() > MOST => Some("too many calls"),
        () => None,
    };
    // With all of a delay removed, and with what varies in it left.
    let removed: Vec<HashMap<usize, f64>> = lanes
        .iter()
        .map(|&lane| replay.removed(trace, &messages, &waits, account, &losses[lane]))
        .flat_map(|all| [without_noise(&all), all])
        .collect();
    let found = replay.run(&removed);
    let mut gains = vec![None; losses.len()];
    for (place, &lane) in lanes.iter().enumerate() {
        let is_passed_on = losses[lane].because == Some(Because::PointToPoint);
        gains[lane] = match refused {
            Some(why) => unknown(why),
            None if is_passed_on => unknown("the delay begins with another rank"),
            None => {
                let [least, all] = [found[2 * place], found[2 * place + 1]].map(|ns| ns.max(0.0) / 1e9);
                Some(Gain { seconds: Some(all), least: Some(least.min(all)), most: Some(all), ..Gain::default() })
            }
        };
    }
    gains
}

/// The delays less what is usual for them to vary: without the delay its noise is left.
fn without_noise(all: &HashMap<usize, f64>) -> HashMap<usize, f64> {
    let usual = median(&mut all.values().copied().collect::<Vec<_>>()).unwrap_or(0.0);
    let spread = median(&mut all.values().map(|ns| (ns - usual).abs()).collect::<Vec<_>>()).unwrap_or(0.0);
    all.iter().map(|(&call, ns)| (call, (ns - 2.0 * spread).max(0.0))).collect()
}

/// The calls of a run.
struct Replay {
    calls: Vec<Call>,
    /// Of each part, for each of its messages' calls: its place among `calls`.
    places: Vec<Vec<usize>>,
    /// When each part entered MPI_Finalize, ns.
    ends: Vec<f64>,
}

impl Replay {
    fn new(trace: &Trace, clock: &Clock, operations: &Operations, messages: &Messages) -> Replay {
        let end = |(index, part): (usize, &Part)| {
            let entered = part.rank_times().map(|times| times.finalize_enter).filter(|&tick| tick > 0);
            clock.of_part(index).nanoseconds(entered.unwrap_or(part.info().last_anchor.tick))
        };
        let ends = trace.parts.iter().enumerate().map(end).collect();
        let mut replay = Replay { calls: Vec::new(), places: Vec::new(), ends };
        for (part, calls) in messages.calls.iter().enumerate() {
            let mut places = vec![0; calls.len()];
            for range in each_call(calls) {
                places[range.clone()].fill(replay.calls.len());
                replay.add(part, calls[range.start].enter_ns, calls[range.start].exit_ns);
            }
            replay.places.push(places);
        }
        for (part, calls) in messages.calls.iter().enumerate() {
            for (place, call) in calls.iter().enumerate() {
                if let Some((other, at)) = messages.awaited(call) {
                    let (own, other) = (replay.places[part][place], replay.places[other][at as usize]);
                    replay.calls[own].awaited.push(other);
                }
            }
        }
        for operation in operations.operations.iter().filter(|operation| !operation.key.is_region) {
            let Some(walk) = Walk::over(trace, clock, operation) else { continue };
            let mut step = walk.step();
            for row in operation.complete_rows() {
                step.look(&walk, row);
                let first = replay.calls.len();
                for (at, member) in walk.members.iter().enumerate() {
                    let call = step.call(at);
                    replay.add(member.index, call.enter, call.waits_from + call.may_wait);
                }
                let all = first..replay.calls.len();
                for at in 0..all.len() {
                    let awaited = match walk.order {
                        Some(Order::All | Order::MostlyAll) => all.clone(),
                        Some(Order::Root(root)) if at != root => first + root..first + root + 1,
                        Some(Order::AtRoot(root)) if at == root => all.clone(),
                        Some(Order::Lower) => first..first + at,
                        _ => 0..0,
                    };
                    replay.calls[first + at].awaited.extend(awaited);
                }
            }
        }
        replay
    }

    fn add(&mut self, part: usize, enter: f64, exit: f64) {
        self.calls.push(Call { part, enter, exit, awaited: Vec::new(), shifts: Vec::new() });
    }

    /// By how much less time a loss lets the late rank come to which of its calls.
    fn removed(
        &self,
        trace: &Trace,
        messages: &Messages,
        waits: &[Vec<MessageWait>],
        account: &Account,
        loss: &Loss,
    ) -> HashMap<usize, f64> {
        let Some(late) = loss.message.map(|index| &account.late_messages[index]) else { return HashMap::new() };
        // Of the time for which it did not wait itself the part that is due to the reason.
        let own = late.waiting_ns - late.point_to_point_ns;
        let share = if own > 0.0 { (loss.ns / own).min(1.0) } else { 0.0 };
        let mut removed: HashMap<usize, f64> = HashMap::new();
        for wait in waits.iter().flatten().filter(|wait| trace.parts[wait.late].rank() == late.rank) {
            let part = &trace.parts[wait.part];
            let entry =
                &part.message_operations()[messages.calls[wait.part][wait.call as usize].record.operation as usize];
            let site = || part.text(entry.call_site).and_then(|text| CallSite::parse(&text));
            if part.text(entry.function).as_deref() != Some(&late.function) || site() != late.call_site {
                continue;
            }
            let passed_on: f64 = within(&waits[wait.late], wait.from_ns, wait.until_ns).map(|(_, ns)| ns).sum();
            let call = self.places[wait.late][wait.late_call as usize];
            let most = removed.entry(call).or_default();
            *most = most.max(share * (wait.ns() - passed_on).max(0.0));
        }
        removed
    }

    /// By how much earlier the run ends without these delays, for each lane, ns.
    fn run(&mut self, removed: &[HashMap<usize, f64>]) -> Vec<f64> {
        let mut points: Vec<(f64, bool, usize)> = Vec::with_capacity(2 * self.calls.len());
        points.extend(
            self.calls.iter().enumerate().flat_map(|(at, call)| [(call.enter, false, at), (call.exit, true, at)]),
        );
        points.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let lanes = removed.len();
        let mut of_parts = vec![vec![0.0; lanes]; self.ends.len()];
        let mut left = vec![f64::NEG_INFINITY; self.ends.len()];
        for (ns, is_exit, at) in points {
            let part = self.calls[at].part;
            if !is_exit {
                for (shift, removed) in of_parts[part].iter_mut().zip(removed) {
                    // No more than the time since its call before.
                    *shift += removed.get(&at).map_or(0.0, |removed| removed.min(ns - left[part]));
                }
                self.calls[at].shifts.clone_from(&of_parts[part]);
                continue;
            }
            left[part] = ns;
            let call = &self.calls[at];
            let awaited =
                || call.awaited.iter().map(|&other| &self.calls[other]).filter(|other| other.enter <= call.exit);
            let base = awaited().map(|other| other.enter).fold(call.enter, f64::max);
            for (lane, shift) in of_parts[part].iter_mut().enumerate() {
                let earlier = |other: &Call| other.enter - other.shifts.get(lane).copied().unwrap_or(0.0);
                *shift = base - awaited().map(earlier).fold(earlier(call), f64::max);
            }
        }
        let end = self.ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let ends = |lane: usize| self.ends.iter().zip(&of_parts).map(move |(end, shifts)| end - shifts[lane]);
        (0..lanes).map(|lane| end - ends(lane).fold(f64::NEG_INFINITY, f64::max)).collect()
    }
}
