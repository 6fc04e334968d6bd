//! How long messages took from the entry of the send to the exit of the receive.

use std::collections::BTreeSet;

use mpitrace_analysis::messages::MessageCall;

use super::BySize;
use super::events::{Event, Events};

/// A rank that comes to its receive this share of the round trip after the message was sent waits for it still.
const SOON: f64 = 0.1;

/// A message and the answer to it, of as many bytes, between two ranks that did nothing else with messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundTrip {
    /// The parts: the one that began, and the other one.
    pub parts: [usize; 2],
    /// Bytes of each of the two messages.
    pub bytes: u64,
    /// When it began, global time, ns.
    pub at_ns: f64,
    /// From the entry of the first send to the exit of the last receive, on the clock of the rank that began, ns.
    pub ns: f64,
    /// From the exit of the receive to the entry of the send on the other rank, on its own clock, ns.
    pub turnaround_ns: f64,
    /// True: either rank was in the call that received when the message was sent, by global time, or came to it as soon
    /// as its call before was over.
    pub both_waited: bool,
}

impl RoundTrip {
    /// The time of one of the two messages: half of both, without the other rank's own time, ns. No clock is compared
    /// with another one.
    pub fn message_ns(&self) -> f64 {
        (self.ns - self.turnaround_ns) / 2.0
    }
}

/// The round trips of a trace, in the order of time.
pub(super) fn round_trips(events: &Events<'_>) -> Vec<RoundTrip> {
    let mut found = Vec::new();
    for thread in &events.threads {
        for pair in thread.events.windows(2) {
            found.extend(round_trip(events, thread.part, pair[0], pair[1]));
        }
    }
    found.sort_by(|one: &RoundTrip, other| one.at_ns.total_cmp(&other.at_ns));
    found
}

/// The round trip of a send and the receive behind it on one thread.
fn round_trip(events: &Events<'_>, part: usize, sent: Event, came: Event) -> Option<RoundTrip> {
    if !sent.is_send || came.is_send || !came.is_alone {
        return None;
    }
    let (other, received, [before, answered]) = events.receive(sent.message)?;
    let answered = answered.filter(|answered| answered.is_send && answered.message == came.message)?;
    let bytes = events.bytes(sent.message);
    if other.part == part || !received.is_alone || events.bytes(came.message) != bytes {
        return None;
    }
    let [send, end] = [sent, came].map(|event| events.call(part, event));
    let [receive, answer] = [received, answered].map(|event| events.call(other.part, event));
    let before = before.map(|before| events.call(other.part, before));
    let ns = end.exit_ns - send.enter_ns;
    // A send that waits for its receiver may return when the answer is already on its way.
    let own_ns = |before: Option<&MessageCall>, receive: &MessageCall, sent: &MessageCall| {
        receive.enter_ns - before.map_or(f64::NEG_INFINITY, |before| before.exit_ns).max(sent.enter_ns)
    };
    Some(RoundTrip {
        parts: [part, other.part],
        bytes,
        at_ns: send.enter_ns,
        ns,
        turnaround_ns: answer.enter_ns - receive.exit_ns,
        both_waited: own_ns(before, receive, send).max(own_ns(Some(send), end, answer)) <= SOON * ns,
    })
}

/// Times of messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    /// For each size, ns.
    pub by_size: BySize,
    /// The parts that sent and received.
    pub pairs: BTreeSet<[usize; 2]>,
}

impl Times {
    fn add(&mut self, parts: [usize; 2], bytes: u64, ns: f64) {
        let [one, other] = parts;
        self.by_size.entry(bytes).or_default().push(ns);
        self.pairs.insert([one.min(other), one.max(other)]);
    }

    /// Halves of the round trips whose ranks waited for each other.
    pub(super) fn of_round_trips<'r>(trips: impl Iterator<Item = &'r RoundTrip>) -> Times {
        let mut times = Times::default();
        for trip in trips.filter(|trip| trip.both_waited && trip.message_ns() > 0.0) {
            times.add(trip.parts, trip.bytes, trip.message_ns());
        }
        times
    }

    /// Times of single messages by global time, between parts that are wanted: the receiver waited for the message, and
    /// the sender started no other one before it had come.
    pub(super) fn of_messages(events: &Events<'_>, wanted: impl Fn([usize; 2]) -> bool) -> Times {
        let mut found: Vec<(f64, [usize; 2], u64, f64)> = Vec::new();
        for thread in &events.threads {
            let is_on_its_way_at = |other: Option<&Event>, ns: f64| {
                let other = other.filter(|other| other.is_send);
                other.is_some_and(|other| match events.receive(other.message) {
                    Some((to, received, _)) => events.call(to.part, received).exit_ns > ns,
                    None => true,
                })
            };
            for (index, &sent) in thread.events.iter().enumerate().filter(|(_, event)| event.is_send) {
                let Some((to, received, _)) = events.receive(sent.message) else { continue };
                let parts = [thread.part, to.part];
                let (send, receive) = (events.call(thread.part, sent), events.call(to.part, received));
                let before = index.checked_sub(1).and_then(|before| thread.events.get(before));
                let behind = thread.events.get(index + 1).filter(|event| event.is_send);
                let is_followed = behind.is_some_and(|next| events.call(thread.part, *next).enter_ns < receive.exit_ns);
                let waited = receive.enter_ns <= send.enter_ns && received.is_alone;
                let by_itself = !is_followed && !is_on_its_way_at(before, send.enter_ns);
                let ns = receive.exit_ns - send.enter_ns;
                if parts[0] != parts[1] && wanted(parts) && waited && by_itself && ns > 0.0 {
                    found.push((send.enter_ns, parts, events.bytes(sent.message), ns));
                }
            }
        }
        found.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut times = Times::default();
        found.into_iter().for_each(|(_, parts, bytes, ns)| times.add(parts, bytes, ns));
        times
    }
}
