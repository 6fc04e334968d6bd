//! Which send and which receive are one message.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mpitrace_format::layout::message;
use mpitrace_trace::operations::CallSite;
use mpitrace_trace::reader::Trace;
use serde::Serialize;

use super::{Message, MessageCall, Messages};

/// Message calls whose message is not known: the other end is not in the trace, or it is not known which one it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unmatched {
    /// The world rank that made them.
    pub rank: u32,
    /// `send` or `receive`.
    pub direction: &'static str,
    /// The partner's world rank; `None`: not known, or any.
    pub partner: Option<u32>,
    /// [`mpitrace_trace::operations::Communicator::id`]; `None`: not known.
    #[serde(rename = "communicator_id")]
    pub communicator: Option<usize>,
    /// How many.
    pub messages: usize,
    /// The functions that made them.
    pub functions: BTreeSet<String>,
    /// Where these were called, where the run has told places apart.
    pub call_sites: Vec<CallSite>,
}

/// How many message calls have no other end, and their operations: parts and entries of these.
#[derive(Default)]
struct Left {
    messages: usize,
    operations: BTreeSet<(usize, u32)>,
}

impl Left {
    fn add(&mut self, part: usize, call: &MessageCall) {
        self.messages += 1;
        self.operations.insert((part, call.record.operation));
    }

    fn unmatched(self, trace: &Trace, (rank, is_send, partner, communicator): Whose) -> Unmatched {
        let entries = || {
            let entry = |&(part, operation): &(usize, u32)| {
                let part = &trace.parts[part];
                (part, &part.message_operations()[operation as usize])
            };
            self.operations.iter().map(entry)
        };
        let sites: BTreeSet<String> = entries().filter_map(|(part, entry)| part.text(entry.call_site)).collect();
        Unmatched {
            rank,
            direction: if is_send { "send" } else { "receive" },
            partner,
            communicator,
            messages: self.messages,
            functions: entries().filter_map(|(part, entry)| part.text(entry.function)).collect(),
            call_sites: sites.iter().filter_map(|site| CallSite::parse(site)).collect(),
        }
    }
}

/// The rank, true if it sends, its partner and the communicator.
type Whose = (u32, bool, Option<u32>, Option<usize>);

/// The communicator, the world ranks that send and receive, and the tag.
type Envelope = (usize, u32, u32, i32);

/// The ends of messages with one envelope, in the order in which they were posted: parts and calls.
#[derive(Default)]
struct Ends {
    sends: Vec<(usize, u32)>,
    receives: Vec<(usize, u32)>,
}

impl Messages {
    pub(super) fn match_calls(&mut self, trace: &Trace) {
        let mut ends: HashMap<Envelope, Ends> = HashMap::new();
        let mut probes: Vec<(usize, u32, Envelope, usize)> = Vec::new();
        let mut unmatched: BTreeMap<Whose, Left> = BTreeMap::new();
        for (part, calls) in self.calls.iter_mut().enumerate() {
            resolve(calls);
            let rank = trace.parts[part].rank();
            for (place, call) in (0u32..).zip(calls.iter()).filter(|(_, call)| call.start.is_none()) {
                if call.flags & message::CANCELLED != 0 {
                    continue;
                }
                let envelope = envelope(rank, call);
                let is_probe = call.flags & (message::FINDS | message::STARTS) == message::FINDS;
                match envelope {
                    Some(envelope) if is_probe => {
                        let before = ends.entry(envelope).or_default().receives.len();
                        probes.push((part, place, envelope, before));
                    }
                    Some(envelope) => {
                        let ends = ends.entry(envelope).or_default();
                        let ends = if call.is_send() { &mut ends.sends } else { &mut ends.receives };
                        ends.push((part, place));
                    }
                    // A completion whose start was not kept is no end of its own.
                    None if is_probe || call.flags & message::COMPLETES != 0 => {}
                    None => {
                        let whose = (rank, call.is_send(), call.partner, call.communicator);
                        unmatched.entry(whose).or_default().add(part, call);
                    }
                }
            }
        }
        // The order of the messages, and so each sum over them, does not change from run to run.
        let mut in_order: Vec<(&Envelope, &Ends)> = ends.iter().collect();
        in_order.sort_unstable_by_key(|(envelope, _)| **envelope);
        for (&(communicator, source, dest, _), ends) in in_order {
            let both = ends.sends.len().min(ends.receives.len());
            for (rank, is_send, partner, all) in
                [(source, true, dest, &ends.sends), (dest, false, source, &ends.receives)]
            {
                for &(part, place) in &all[both..] {
                    let whose = (rank, is_send, Some(partner), Some(communicator));
                    unmatched.entry(whose).or_default().add(part, &self.calls[part][place as usize]);
                }
            }
            for (&send, &receive) in ends.sends.iter().zip(&ends.receives) {
                let index = Some(self.messages.len() as u32);
                self.messages.push(Message { send, receive });
                for (part, place) in [send, receive] {
                    self.calls[part][place as usize].message = index;
                }
            }
        }
        for (part, place, envelope, before) in probes {
            let found = ends[&envelope].sends.get(before);
            let message = found.and_then(|&(part, place)| self.calls[part][place as usize].message);
            self.calls[part][place as usize].message = message;
        }
        for calls in &mut self.calls {
            for place in 0..calls.len() {
                if let Some(start) = calls[place].start {
                    calls[place].message = calls[start as usize].message;
                }
            }
        }
        self.unmatched = unmatched.into_iter().map(|(whose, left)| left.unmatched(trace, whose)).collect();
        self.unmatched.sort_by_key(|one| std::cmp::Reverse(one.messages));
    }
}

/// The partner and tag that came with the call that found a request complete are those that its start has received.
fn resolve(calls: &mut [MessageCall]) {
    for place in 0..calls.len() {
        let call = calls[place];
        if let Some(start) = call.start {
            let start = &mut calls[start as usize];
            (start.partner, start.tag) = (call.partner, call.tag);
            start.flags |= call.flags & message::CANCELLED;
        }
    }
}

fn envelope(rank: u32, call: &MessageCall) -> Option<Envelope> {
    let is_known = call.tag >= 0 && call.flags & (message::FOLDED | message::COMPLETES) == 0;
    let (communicator, partner) = call.communicator.zip(call.partner).filter(|_| is_known)?;
    Some(match call.is_send() {
        true => (communicator, rank, partner, call.tag),
        false => (communicator, partner, rank, call.tag),
    })
}
