//! Message calls that were recorded, and the messages that they belong to.
//!
//! Messages of one rank to another one, with one tag on one communicator, are received in the order in which they were
//! sent, by the receives in the order in which these were posted. Of a receive from any source or with any tag the
//! status told which message came, so the k-th send and the k-th receive of the same ranks, tag and communicator are
//! one message.

mod matching;
pub(crate) mod off;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod waits;

use mpitrace_format::layout::{MessageEntry, message};
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::partners::Partners;
use mpitrace_trace::reader::{MessageRecord, Part, Trace};

pub use matching::Unmatched;
pub use waits::{MessageWait, each_call};

/// The message calls of a trace.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// The message calls of each part, in the order of their entries.
    pub calls: Vec<Vec<MessageCall>>,
    /// The messages of which both ends are known.
    pub messages: Vec<Message>,
    /// Ends whose other end is not in the trace, or not known, by rank, partner and communicator.
    pub unmatched: Vec<Unmatched>,
}

/// A message call, as far as it is of one message.
#[derive(Clone, Copy, Debug)]
pub struct MessageCall {
    /// As it was recorded.
    pub record: MessageRecord,
    /// Global time of the entry ...
    pub enter_ns: f64,
    /// ... and of the exit.
    pub exit_ns: f64,
    /// Bits of [`message`].
    pub flags: u32,
    /// The partner's world rank; `None`: not known.
    pub partner: Option<u32>,
    /// [`mpitrace_trace::operations::Communicator::id`]; `None`: not known.
    pub communicator: Option<usize>,
    /// The tag that came, or was asked for: then negative for any.
    pub tag: i32,
    /// The index of the call that started the request which this call completes.
    pub start: Option<u32>,
    /// Index of the message.
    pub message: Option<u32>,
}

/// A message, by the calls that sent it and posted its receive: the index of the part and of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The call that sent it.
    pub send: (usize, u32),
    /// The call that posted its receive.
    pub receive: (usize, u32),
}

impl MessageCall {
    /// True: it sends.
    pub fn is_send(&self) -> bool {
        self.flags & message::SEND != 0
    }
}

impl Messages {
    /// The message calls of a trace.
    pub fn new(trace: &Trace, clock: &Clock, operations: &Operations) -> Messages {
        match are_recorded(trace) {
            true => Messages::of_partners(trace, clock, &Partners::new(trace, operations)),
            false => Messages::default(),
        }
    }

    /// The message calls of a trace whose partners are known.
    pub fn of_partners(trace: &Trace, clock: &Clock, partners: &Partners) -> Messages {
        if !are_recorded(trace) {
            return Messages::default();
        }
        let calls = |(index, part): (usize, &Part)| calls(index, part, clock, partners);
        let calls = trace.parts.iter().enumerate().map(calls).collect();
        let mut messages = Messages { calls, ..Messages::default() };
        messages.match_calls(trace);
        messages
    }

    /// The bytes of the message of a call: those that were sent, where that is known.
    pub fn bytes(&self, call: &MessageCall) -> Option<u64> {
        match call.message {
            Some(index) => {
                let (part, send) = self.messages[index as usize].send;
                Some(self.calls[part][send as usize].record.bytes)
            }
            None => (call.is_send() && call.start.is_none()).then_some(call.record.bytes),
        }
    }
}

/// True: message calls of the run were recorded.
pub fn are_recorded(trace: &Trace) -> bool {
    trace.parts.iter().any(|part| !part.message_operations().is_empty())
}

/// The calls of a part, in the order of their entries.
fn calls(index: usize, part: &Part, clock: &Clock, partners: &Partners) -> Vec<MessageCall> {
    let (entries, clock) = (part.message_operations(), clock.of_part(index));
    let known = |entry: &MessageEntry| {
        let communicator = (entry.partner >> 32).checked_sub(1);
        let communicator = communicator.and_then(|own| partners.communicator(index, own as u32));
        (communicator, partners.world_rank(index, entry.partner))
    };
    let known: Vec<_> = entries.iter().map(known).collect();
    let mut records = part.message_records();
    records.sort_by_key(|record| record.enter);
    let mut starts = std::collections::HashMap::new();
    let mut calls: Vec<MessageCall> = Vec::with_capacity(records.len());
    for (place, record) in (0u32..).zip(records) {
        let entry = &entries[record.operation as usize];
        let (communicator, partner) = known[record.operation as usize];
        let start = entry.start.checked_sub(1).and_then(|start| starts.remove(&(start, record.number)));
        if entry.flags & message::STARTS != 0 {
            starts.insert((record.operation, record.number), place);
        }
        let enter_ns = clock.nanoseconds(record.enter);
        calls.push(MessageCall {
            record,
            enter_ns,
            exit_ns: enter_ns + clock.duration_ns(record.enter, record.exit),
            flags: entry.flags,
            partner,
            communicator,
            tag: entry.tag,
            start,
            message: None,
        });
    }
    calls
}
