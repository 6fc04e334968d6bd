//! The overheads o_s and o_r of LogP and the gap g: how long calls kept the processor, and bursts of messages.

use std::collections::BTreeMap;

use mpitrace_format::layout::message;
use mpitrace_statistics::median;
use mpitrace_statistics::models::gap_of_burst;
use mpitrace_trace::reader::Trace;

use super::BySize;
use super::events::{Event, Events, ThreadEvents};

/// Messages of a burst, at least.
pub(super) const LEAST_OF_A_BURST: usize = 8;
/// A message is taken as arrived once it has been on its way for so many times as long as a message takes.
const SURELY_ARRIVED: f64 = 2.0;

/// What is measured of the calls of a kind of pair, by size, ns.
#[derive(Clone, Debug, Default)]
pub(super) struct Overheads {
    /// Sends that did not wait for the receiver.
    pub send: BySize,
    /// Receives of messages that had arrived.
    pub receive: BySize,
    /// The gaps of bursts.
    pub gap: BySize,
}

impl Overheads {
    /// The overheads of messages between parts that are wanted. `times`: how long messages took, by size.
    pub(super) fn new(
        trace: &Trace,
        events: &Events<'_>,
        times: &BySize,
        wanted: impl Fn([usize; 2]) -> bool,
    ) -> Overheads {
        let took: BTreeMap<u64, f64> =
            times.iter().filter_map(|(&bytes, ns)| Some((bytes, median(&mut ns.clone())?))).collect();
        let mut found = Overheads::default();
        for thread in &events.threads {
            for (index, &event) in thread.events.iter().enumerate() {
                let before = index.checked_sub(1).map(|before| thread.events[before]);
                let bytes = events.bytes(event.message);
                if event.is_send {
                    let is_first = before.is_none_or(|before| !before.is_send);
                    if let Some(ns) = send_overhead(trace, events, thread, event, &wanted).filter(|_| is_first) {
                        found.send.entry(bytes).or_default().push(ns);
                    }
                } else if let Some(ns) = receive_overhead(events, thread, event, &took, &wanted) {
                    found.receive.entry(bytes).or_default().push(ns);
                }
            }
            for burst in bursts(events, thread) {
                let bytes = events.bytes(burst[0].message);
                if let Some(ns) = gap(events, thread, burst, took.get(&bytes).copied(), &wanted) {
                    found.gap.entry(bytes).or_default().push(ns);
                }
            }
        }
        found
    }
}

/// How long a send took that did not wait for its receiver: that of MPI_Isend, or of an MPI_Send that returned before
/// the message was received.
fn send_overhead(
    trace: &Trace,
    events: &Events<'_>,
    thread: &ThreadEvents,
    sent: Event,
    wanted: impl Fn([usize; 2]) -> bool,
) -> Option<f64> {
    let (to, received, _) = events.receive(sent.message)?;
    if to.part == thread.part || !wanted([thread.part, to.part]) || !sent.is_alone {
        return None;
    }
    let (send, receive) = (events.call(thread.part, sent), events.call(to.part, received));
    let part = &trace.parts[thread.part];
    let function = part.text(part.message_operations()[send.record.operation as usize].function)?;
    let did_not_wait = match function.as_str() {
        "MPI_Isend" => true,
        "MPI_Send" => send.exit_ns < receive.exit_ns,
        _ => false,
    };
    did_not_wait.then_some(send.exit_ns - send.enter_ns)
}

/// How long a receive that blocks took of a message that had arrived.
fn receive_overhead(
    events: &Events<'_>,
    thread: &ThreadEvents,
    received: Event,
    took: &BTreeMap<u64, f64>,
    wanted: impl Fn([usize; 2]) -> bool,
) -> Option<f64> {
    let (from, sent) = events.send(received.message)?;
    let (send, receive) = (events.call(from.part, sent), events.call(thread.part, received));
    let blocks = receive.start.is_none() && receive.flags & message::STARTS == 0 && received.is_alone;
    if from.part == thread.part || !wanted([from.part, thread.part]) || !blocks {
        return None;
    }
    let arrived = send.enter_ns + SURELY_ARRIVED * took.get(&events.bytes(received.message))?;
    (receive.enter_ns >= arrived).then_some(receive.exit_ns - receive.enter_ns)
}

/// Sends of messages of one size to one rank, one after the other.
fn bursts<'t>(events: &'t Events<'_>, thread: &'t ThreadEvents) -> impl Iterator<Item = &'t [Event]> {
    let of = |event: &Event| {
        (event.is_send, events.receive(event.message).map(|(to, ..)| to.part), events.bytes(event.message))
    };
    let runs = thread.events.chunk_by(move |one, other| of(one) == of(other));
    runs.filter(|run| run[0].is_send && run.len() >= LEAST_OF_A_BURST)
}

/// The gap of a burst, by the completions on the rank that received it. It has to be there before half of the messages
/// were sent, and to be in its calls for half of the time. Where one call completed all, the burst lasts from the first
/// send on, less the time of one message.
fn gap(
    events: &Events<'_>,
    thread: &ThreadEvents,
    burst: &[Event],
    took: Option<f64>,
    wanted: impl Fn([usize; 2]) -> bool,
) -> Option<f64> {
    let mut calls = Vec::with_capacity(burst.len());
    let mut part = thread.part;
    for sent in burst {
        let (to, received, _) = events.receive(sent.message)?;
        part = to.part;
        calls.push(events.call(part, received));
    }
    if part == thread.part || !wanted([thread.part, part]) {
        return None;
    }
    calls.sort_by(|one, other| one.exit_ns.total_cmp(&other.exit_ns));
    let (first, last) = (calls[0], calls[calls.len() - 1]);
    let send = |index: usize| events.call(thread.part, burst[index]).enter_ns;
    if first.enter_ns > send(burst.len() / 2) {
        return None;
    }
    calls.dedup_by_key(|call| call.record.enter);
    let inside: f64 = calls.iter().skip(1).map(|call| call.exit_ns - call.enter_ns).sum();
    if calls.len() == burst.len() {
        let completions: Vec<f64> = calls.iter().map(|call| call.exit_ns).collect();
        return gap_of_burst(&completions).filter(|_| 2.0 * inside >= last.exit_ns - first.exit_ns);
    }
    let alone = (last.exit_ns - send(0) - took?) / (burst.len() - 1) as f64;
    (calls.len() == 1 && alone > 0.0).then_some(alone)
}
