//! Which send and which receive are one message.

use std::collections::{BTreeMap, HashMap};

use mpitrace_format::layout::message;
use serde::Serialize;

use super::{Message, MessageCall, Messages};
use crate::reader::Trace;

/// Message calls whose message is not known: the other end is not in the trace, or it is not known which one it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unmatched {
    /// The world rank that made them.
    pub rank: u32,
    /// `send` or `receive`.
    pub direction: &'static str,
    /// The partner's world rank; `None`: not known, or any.
    pub partner: Option<u32>,
    /// [`crate::operations::Communicator::id`]; `None`: not known.
    #[serde(rename = "communicator_id")]
    pub communicator: Option<usize>,
    /// How many.
    pub messages: usize,
}

/// The communicator, the world ranks that send and receive, and the tag.
type Envelope = (usize, u32, u32, i32);

/// The ends of messages with one envelope, in the order in which they were posted: parts and calls.
#[derive(Default)]
struct Ends {
    sends: Vec<(usize, u32)>,
    receives: Vec<(usize, u32)>,
}

impl Messages {
    /// Finds the messages.
    pub(super) fn match_calls(&mut self, trace: &Trace) {
        let mut ends: HashMap<Envelope, Ends> = HashMap::new();
        let mut probes: Vec<(usize, u32, Envelope, usize)> = Vec::new();
        let mut unmatched: BTreeMap<(u32, bool, Option<u32>, Option<usize>), usize> = BTreeMap::new();
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
                    None => *unmatched.entry((rank, call.is_send(), call.partner, call.communicator)).or_default() += 1,
                }
            }
        }
        for (&(communicator, source, dest, _), ends) in &ends {
            let both = ends.sends.len().min(ends.receives.len());
            for (rank, is_send, partner, all) in
                [(source, true, dest, ends.sends.len()), (dest, false, source, ends.receives.len())]
            {
                if all > both {
                    *unmatched.entry((rank, is_send, Some(partner), Some(communicator))).or_default() += all - both;
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
        self.unmatched = unmatched
            .into_iter()
            .map(|((rank, is_send, partner, communicator), messages)| Unmatched {
                rank,
                direction: if is_send { "send" } else { "receive" },
                partner,
                communicator,
                messages,
            })
            .collect();
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
