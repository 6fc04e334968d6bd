//! What each thread did with messages, in order: sends that it started, and receives that were complete.

use std::collections::BTreeMap;

use mpitrace_analysis::messages::{MessageCall, Messages, each_call};
use mpitrace_format::layout::message;

/// A send that was started, or a receive that was complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// True: the send of the message.
    pub is_send: bool,
    /// Index of the message.
    pub message: u32,
    /// Index of the call among those of the part: that which started the send, or found the receive complete.
    pub call: u32,
    /// True: the call is of no other message in this direction.
    pub is_alone: bool,
}

/// Where an event is: the thread, and its place there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    thread: usize,
    index: usize,
}

/// One thread of a part.
#[derive(Debug)]
pub(super) struct ThreadEvents {
    /// Index of the part.
    pub part: usize,
    /// In the order of time.
    pub events: Vec<Event>,
}

/// The events of a trace.
pub(super) struct Events<'m> {
    pub messages: &'m Messages,
    pub threads: Vec<ThreadEvents>,
    /// For each message where its send and its receive are.
    sends: Vec<Option<Place>>,
    receives: Vec<Option<Place>>,
}

impl<'m> Events<'m> {
    pub(super) fn new(messages: &'m Messages) -> Events<'m> {
        let none = vec![None; messages.messages.len()];
        let mut found = Events { messages, threads: Vec::new(), sends: none.clone(), receives: none };
        for (part, calls) in messages.calls.iter().enumerate() {
            let mut threads: BTreeMap<u32, Vec<Event>> = BTreeMap::new();
            for range in each_call(calls) {
                let group = &calls[range.clone()];
                for (call, one) in (range.start as u32..).zip(group) {
                    let Some(message) = one.message.filter(|_| is_event(one)) else { continue };
                    let is_send = one.is_send();
                    let alike = group.iter().filter(|other| other.is_send() == is_send && is_event(other)).count();
                    let event = Event { is_send, message, call, is_alone: alike == 1 };
                    threads.entry(one.record.thread).or_default().push(event);
                }
            }
            for events in threads.into_values() {
                let thread = found.threads.len();
                for (index, event) in events.iter().enumerate() {
                    let places = if event.is_send { &mut found.sends } else { &mut found.receives };
                    places[event.message as usize] = Some(Place { thread, index });
                }
                found.threads.push(ThreadEvents { part, events });
            }
        }
        found
    }

    /// The thread that receives a message, the event, and those before and behind it there.
    pub(super) fn receive(&self, message: u32) -> Option<(&ThreadEvents, Event, [Option<Event>; 2])> {
        let Place { thread, index } = self.receives[message as usize]?;
        let thread = &self.threads[thread];
        let before = index.checked_sub(1).map(|before| thread.events[before]);
        Some((thread, thread.events[index], [before, thread.events.get(index + 1).copied()]))
    }

    /// The event that sends a message, with its thread.
    pub(super) fn send(&self, message: u32) -> Option<(&ThreadEvents, Event)> {
        let Place { thread, index } = self.sends[message as usize]?;
        let thread = &self.threads[thread];
        Some((thread, thread.events[index]))
    }

    pub(super) fn call(&self, part: usize, event: Event) -> &MessageCall {
        &self.messages.calls[part][event.call as usize]
    }

    pub(super) fn bytes(&self, message: u32) -> u64 {
        let (part, send) = self.messages.messages[message as usize].send;
        self.messages.calls[part][send as usize].record.bytes
    }
}

/// True of the call that starts a send, and of that which completes a receive.
fn is_event(call: &MessageCall) -> bool {
    let is_start = call.start.is_none() && call.flags & message::COMPLETES == 0;
    match call.is_send() {
        true => is_start,
        false => call.flags & message::FINDS == 0 && (call.start.is_some() || call.flags & message::STARTS == 0),
    }
}
