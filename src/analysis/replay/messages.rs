//! The gain without a delay for which ranks wait in message calls: the run is replayed message by message.
//!
//! All entries and exits of calls are gone through in the order of their times. A rank leaves a call at `max(own,
//! awaited) + w + c`. The transfer `c` stays. The late wake-up `w` of a rank that had to wait is what a call takes
//! longer than those of the same kind that take least: a rank that yields its processor while it waits gets it back
//! late. A receive waits for the call that sends, a send for the receive if that was posted while it lasted, a
//! collective for those that its pattern names.
//!
//! A rank that wakes up late waits for less time in its next call. So a rank is late by as much as others wait for it
//! in a replay in which none wakes up late.

use std::collections::HashMap;

use mpitrace_statistics::median;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::{CallSite, Operations};
use mpitrace_trace::reader::Trace;

use super::Gain;
use crate::account::walk::Walk;
use crate::account::{Account, Because, Loss};
use crate::messages::waits::within;
use crate::messages::{MessageCall, MessageWait, Messages, each_call};

/// Shifts that are kept at once: 8 bytes each.
const MOST: usize = 1 << 25;

/// The part that is left of a late wake-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WakeUp {
    /// All.
    Stays,
    /// In proportion to the waiting that is left.
    Scales,
    /// Nothing if the rank waits for less time.
    Goes,
    /// Nothing.
    #[default]
    Never,
}

/// A rank waits as long as it did if it waits for this share of that.
const SAME: f64 = 0.99;

const MODELS: usize = 3;

#[derive(Default)]
struct Lane {
    /// So much less time before a call.
    removed: HashMap<usize, f64>,
    wake_up: WakeUp,
}

/// A call of a part, global time, ns.
struct Call {
    part: usize,
    /// Calls with the same number are of one kind.
    kind: usize,
    enter: f64,
    exit: f64,
    awaited: Vec<usize>,
    woke_late: f64,
}

/// The gains without these losses; `None`: of another kind.
pub(super) fn gains(
    trace: &Trace,
    clock: &Clock,
    operations: &Operations,
    account: &Account,
    losses: &[Loss],
    messages: &Messages,
    waits: &[Vec<MessageWait>],
) -> Vec<Option<Gain>> {
    let is_of_messages = |loss: &Loss| loss.message.is_some() && loss.rank.is_some();
    if !losses.iter().any(is_of_messages) {
        return vec![None; losses.len()];
    }
    let lanes: Vec<usize> = (0..losses.len()).filter(|&lane| is_of_messages(&losses[lane])).collect();
    let unknown = |why| Some(Gain { unknown: Some(why), ..Gain::default() });
    let replay = Replay::new(trace, clock, operations, messages);
    let refused = match () {
        () if !trace.complete => Some("the trace is not complete"),
        () if trace.parts.iter().any(|part| part.lacks_calls()) => Some("not all calls are kept"),
        () if !messages.unmatched.is_empty() => Some("not all messages are known"),
        () if 2 * MODELS * replay.calls.len() * lanes.len() > MOST => Some("too many calls"),
        () => None,
    };
    if let Some(why) = refused {
        return losses.iter().map(|loss| if is_of_messages(loss) { unknown(why) } else { None }).collect();
    }
    let prompt = replay.earlier(messages, &replay.run(&[Lane::default()]).1);
    let prompt_waits = prompt.waits(trace, clock);
    let lanes_of = |&lane: &usize| {
        let removed = |messages, waits| replay.removed(trace, messages, waits, account, &losses[lane]);
        let all = removed(&prompt, &prompt_waits);
        [
            Lane { removed: without_noise(&removed(messages, waits)), wake_up: WakeUp::Stays },
            Lane { removed: all.clone(), wake_up: WakeUp::Scales },
            Lane { removed: all, wake_up: WakeUp::Goes },
        ]
    };
    let found = replay.run(&lanes.iter().flat_map(lanes_of).collect::<Vec<Lane>>()).0;
    let mut gains = vec![None; losses.len()];
    for (&lane, found) in lanes.iter().zip(found.chunks(MODELS)) {
        let seconds = |ns: f64| Some(ns.max(0.0) / 1e9);
        gains[lane] = match losses[lane].because {
            Some(Because::PointToPoint) => unknown("the delay begins with another rank"),
            _ => Some(Gain {
                least: seconds(found.iter().copied().fold(f64::INFINITY, f64::min)),
                seconds: seconds(found[1]),
                most: seconds(found.iter().copied().fold(0.0, f64::max)),
                ..Gain::default()
            }),
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

pub(super) struct Replay {
    calls: Vec<Call>,
    /// For each part and each of its message calls: the place among `calls`.
    places: Vec<Vec<usize>>,
    /// The places of the calls of each part, in the order of their entries.
    of_parts: Vec<Vec<usize>>,
    /// The late wake-up of each part in the mean of the calls in which it waits, ns.
    usual_wake_ups: Vec<f64>,
    /// When each part entered MPI_Finalize, ns.
    ends: Vec<f64>,
}

impl Replay {
    pub fn new(trace: &Trace, clock: &Clock, operations: &Operations, messages: &Messages) -> Replay {
        let mut replay = Replay {
            calls: Vec::new(),
            places: Vec::new(),
            of_parts: vec![Vec::new(); trace.parts.len()],
            usual_wake_ups: Vec::new(),
            ends: super::ends(trace, clock),
        };
        let mut kinds = 0;
        for (part, calls) in messages.calls.iter().enumerate() {
            let mut places = vec![0; calls.len()];
            for range in each_call(calls) {
                places[range.clone()].fill(replay.calls.len());
                let MessageCall { record, enter_ns, exit_ns, .. } = calls[range.start];
                replay.add(part, kinds + record.operation as usize, enter_ns, exit_ns);
            }
            replay.places.push(places);
            kinds += trace.parts[part].message_operations().len();
        }
        for (part, calls) in messages.calls.iter().enumerate() {
            for (place, call) in calls.iter().enumerate() {
                if let Some((other, at)) = messages.awaited(call) {
                    let (waiting, other) = (replay.places[part][place], replay.places[other][at as usize]);
                    replay.calls[waiting].awaited.push(other);
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
                    replay.add(member.index, kinds + at, call.enter, call.waits_from + call.may_wait);
                }
                for at in 0..walk.members.len() {
                    replay.calls[first + at].awaited.extend(walk.awaited_by(at).map(|other| first + other));
                }
            }
            kinds += walk.members.len();
        }
        for (at, call) in replay.calls.iter().enumerate() {
            replay.of_parts[call.part].push(at);
        }
        let Replay { calls, of_parts, .. } = &mut replay;
        of_parts.iter_mut().for_each(|of| of.sort_by(|&one, &other| calls[one].enter.total_cmp(&calls[other].enter)));
        replay.find_late_wake_ups(kinds);
        replay
    }

    fn add(&mut self, part: usize, kind: usize, enter: f64, exit: f64) {
        self.calls.push(Call { part, kind, enter, exit, awaited: Vec::new(), woke_late: 0.0 });
    }

    fn find_late_wake_ups(&mut self, kinds: usize) {
        let mut least = vec![f64::INFINITY; kinds];
        let behind: Vec<f64> = self.calls.iter().map(|call| call.exit - self.base(call)).collect();
        self.calls.iter().zip(&behind).for_each(|(call, &ns)| least[call.kind] = least[call.kind].min(ns));
        let mut sums = vec![(0.0, 0.0); self.ends.len()];
        for (at, behind) in behind.into_iter().enumerate() {
            let call = &self.calls[at];
            if self.base(call) > call.enter {
                let (woke_late, (sum, waits)) = (behind - least[call.kind], &mut sums[call.part]);
                (*sum, *waits) = (*sum + woke_late, *waits + 1.0);
                self.calls[at].woke_late = woke_late;
            }
        }
        self.usual_wake_ups = sums.into_iter().map(|(sum, waits)| sum / f64::max(waits, 1.0)).collect();
    }

    /// The calls that a call has waited for.
    fn awaited<'r>(&'r self, call: &'r Call) -> impl Iterator<Item = usize> + 'r {
        call.awaited.iter().copied().filter(|&other| self.calls[other].enter <= call.exit)
    }

    /// When the last of these came, or the call itself.
    fn base(&self, call: &Call) -> f64 {
        self.awaited(call).map(|other| self.calls[other].enter).fold(call.enter, f64::max)
    }

    /// The call and those of its part before it, the last first, each with the time since the one before, ns.
    fn before(&self, call: usize) -> impl Iterator<Item = (usize, f64)> {
        let of_part = &self.of_parts[self.calls[call].part];
        let first = of_part.partition_point(|&other| self.calls[other].enter <= self.calls[call].enter);
        of_part[..first].windows(2).rev().map(|pair| {
            let since = self.calls[pair[1]].enter - self.calls[pair[0]].exit;
            (pair[1], since.max(0.0))
        })
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
        let waiting_ns = late.waiting_ns - late.point_to_point_ns;
        let share = if waiting_ns > 0.0 { (loss.ns / waiting_ns).min(1.0) } else { 0.0 };
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
            let mut delay = share * (wait.ns() - passed_on).max(0.0);
            // It comes to its call late because of what it did before that one, or before others since.
            for (call, since) in self.before(self.places[wait.late][wait.late_call as usize]) {
                if delay <= 0.0 {
                    break;
                }
                let most = removed.entry(call).or_default();
                *most = most.max(delay.min(since));
                delay -= since;
            }
        }
        removed
    }

    /// By how much earlier the run ends in each lane, and each call begins and ends, ns.
    fn run(&self, lanes: &[Lane]) -> (Vec<f64>, Vec<[Vec<f64>; 2]>) {
        // A rank leaves a call before it enters the next one, also at the same time.
        let mut points: Vec<(f64, usize, usize)> = Vec::with_capacity(2 * self.calls.len());
        for of_part in &self.of_parts {
            for (place, &at) in of_part.iter().enumerate() {
                let Call { enter, exit, .. } = self.calls[at];
                points.extend([(enter, 2 * place, at), (exit, 2 * place + 1, at)]);
            }
        }
        points.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut of_parts = vec![vec![0.0; lanes.len()]; self.ends.len()];
        let mut left = vec![f64::NEG_INFINITY; self.ends.len()];
        let mut shifts: Vec<[Vec<f64>; 2]> = vec![Default::default(); self.calls.len()];
        for (ns, order, at) in points {
            let call = &self.calls[at];
            if order % 2 == 0 {
                for (shift, lane) in of_parts[call.part].iter_mut().zip(lanes) {
                    // No more than the time since its call before.
                    *shift += lane.removed.get(&at).map_or(0.0, |removed| removed.min(ns - left[call.part]));
                }
                shifts[at][0].clone_from(&of_parts[call.part]);
                continue;
            }
            left[call.part] = ns;
            let base = self.base(call);
            for (place, (shift, lane)) in of_parts[call.part].iter_mut().zip(lanes).enumerate() {
                let earlier =
                    |other: usize| self.calls[other].enter - shifts[other][0].get(place).copied().unwrap_or(0.0);
                let arrival = earlier(at);
                let last = self.awaited(call).map(earlier).fold(arrival, f64::max);
                let left_of_wait =
                    if base > call.enter { ((last - arrival) / (base - call.enter)).min(1.0) } else { 0.0 };
                let kept = match lane.wake_up {
                    // One that has not waited may have to.
                    WakeUp::Stays if base == call.enter && last > arrival => self.usual_wake_ups[call.part],
                    WakeUp::Stays => call.woke_late,
                    WakeUp::Scales => left_of_wait * call.woke_late,
                    WakeUp::Goes if left_of_wait > SAME => call.woke_late,
                    WakeUp::Goes | WakeUp::Never => 0.0,
                };
                *shift = base - last + call.woke_late - kept;
            }
            shifts[at][1].clone_from(&of_parts[call.part]);
        }
        let end = self.ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let ends = |lane: usize| self.ends.iter().zip(&of_parts).map(move |(end, shifts)| end - shifts[lane]);
        let ends = (0..lanes.len()).map(|lane| end - ends(lane).fold(f64::NEG_INFINITY, f64::max)).collect();
        (ends, shifts)
    }

    /// By how much earlier the run ends where no call takes more time than its waiting for the ranks that it awaits,
    /// ns. `None`: a rank enters a call before it has left the one before.
    pub fn gain_without_transfer(&self) -> Option<f64> {
        let mut points: Vec<(f64, usize, usize)> = Vec::with_capacity(2 * self.calls.len());
        for of_part in &self.of_parts {
            let overlap = |pair: &[usize]| self.calls[pair[1]].enter < self.calls[pair[0]].exit;
            if of_part.windows(2).any(overlap) {
                return None;
            }
            for (place, &at) in of_part.iter().enumerate() {
                points.extend([(self.calls[at].enter, 2 * place, at), (self.calls[at].exit, 2 * place + 1, at)]);
            }
        }
        points.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut earlier = vec![0.0; self.ends.len()];
        let mut entered = vec![f64::INFINITY; self.calls.len()];
        for (ns, order, at) in points {
            let call = &self.calls[at];
            if order % 2 == 0 {
                entered[at] = ns - earlier[call.part];
                continue;
            }
            let arrivals = self.awaited(call).map(|other| entered[other]).filter(|ns| ns.is_finite());
            earlier[call.part] = ns - arrivals.fold(entered[at], f64::max);
        }
        let last = |ends: &mut dyn Iterator<Item = f64>| ends.fold(f64::NEG_INFINITY, f64::max);
        let without = last(&mut self.ends.iter().zip(&earlier).map(|(end, earlier)| end - earlier));
        Some(last(&mut self.ends.iter().copied()) - without)
    }

    /// The messages, with their calls earlier by the shifts of the first lane.
    fn earlier(&self, messages: &Messages, shifts: &[[Vec<f64>; 2]]) -> Messages {
        let mut earlier = messages.clone();
        for (calls, places) in earlier.calls.iter_mut().zip(&self.places) {
            for (call, &place) in calls.iter_mut().zip(places) {
                let [enter, exit] = [0, 1].map(|end| shifts[place][end].first().copied().unwrap_or(0.0));
                (call.enter_ns, call.exit_ns) = (call.enter_ns - enter, call.exit_ns - exit);
            }
        }
        earlier
    }
}

#[cfg(test)]
mod tests {
    use mpitrace_format::layout::{MessageEntry, message, partner};
    use mpitrace_testing::synthetic::{self, SyntheticRank};

    use super::*;

    /// Rank 1 waits for three messages, and returns 2, 3 and 4 us after they were sent.
    #[test]
    fn the_usual_late_wake_up_is_the_mean_of_the_calls_that_wait() {
        let entry =
            |flags, rank| MessageEntry { flags, partner: partner::known(0, rank), tag: 1, ..Default::default() };
        let mut ranks: Vec<SyntheticRank> = (0..2).map(|rank| SyntheticRank::new(rank, 2).stamped()).collect();
        for k in 1..=3 {
            let at = 100_000 * k;
            ranks[0].message("MPI_Send", entry(message::SEND, 1), None, 8, [at, at + 1_000]);
            let returned = at + 1_000 * (k + 1);
            ranks[1].message("MPI_Recv", entry(message::RECEIVE, 0), None, 0, [at - 50_000, returned]);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mpitrace");
        synthetic::write(&path, &ranks).unwrap();
        let trace = Trace::open(&[path]).unwrap();
        let (clock, operations) = (Clock::new(&trace), Operations::new(&trace));
        let replay = Replay::new(&trace, &clock, &operations, &Messages::new(&trace, &clock, &operations));
        let usual: Vec<f64> = replay.usual_wake_ups.iter().map(|ns| ns.round()).collect();
        assert_eq!(usual, [0.0, 1_000.0]);
    }
}
