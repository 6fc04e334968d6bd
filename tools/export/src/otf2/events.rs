//! The events, rank by rank: each thread is a location.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anyhow::Result;
use mpitrace_analysis::messages::MessageCall;
use mpitrace_format::layout::{message, partner};

use super::archive::{Archive, End, Events, MessageEnd};
use super::definitions::{self, Counts, Definitions};
use crate::messages::MessageRows;
use crate::rows::{Calls, Row, Selection};
use crate::stamps::Stamps;

/// `OTF2_COLLECTIVE_ROOT_NONE`.
const NO_ROOT: u32 = u32::MAX;

/// Writes them all.
pub fn write<'t>(
    archive: &Archive,
    calls: &Calls<'t>,
    messages: &MessageRows<'t>,
    operation: Option<usize>,
    stamps: &Stamps,
    definitions: &Definitions,
) -> Result<Counts> {
    let context = Context { calls, messages, stamps, definitions };
    let mut counts = Counts::default();
    for rank in definitions::ranks(calls) {
        // Each rank has a location, as its communicators name it.
        let part = calls.trace.parts.iter().position(|part| part.rank() == rank);
        let open =
            |number| Thread::open(archive, rank, number, part.map(|part| (part, messages.calls(part).collect())));
        let mut threads = BTreeMap::from([(0, open(0)?)]);
        for call in part.into_iter().flat_map(|part| messages.calls(part)) {
            if let Entry::Vacant(new) = threads.entry(call[0].record.thread) {
                new.insert(open(call[0].record.thread)?);
            }
        }
        let selection = Selection { operation, rank: Some(rank), limit: None };
        calls.each(selection, |row| {
            let thread = match threads.entry(row.thread) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(open(row.thread)?),
            };
            thread.messages_until(&context, row.enter_ns)?;
            thread.call(&context, &row)
        })?;
        for (number, mut thread) in threads {
            thread.messages_until(&context, f64::INFINITY)?;
            let (count, last) = thread.close()?;
            counts.of_location.insert(definitions::location(rank, number), count);
            counts.last = counts.last.max(last);
        }
    }
    Ok(counts)
}

struct Context<'c, 't> {
    calls: &'c Calls<'t>,
    messages: &'c MessageRows<'t>,
    stamps: &'c Stamps,
    definitions: &'c Definitions,
}

struct Thread<'a> {
    events: Events<'a>,
    /// The events still to come, by time; at one time the one begun last comes first, as it lies within the others.
    pending: BTreeMap<(u64, Reverse<u64>), Pending>,
    /// The part, and the message calls of the thread that are still to come, the last first.
    part: usize,
    messages: Vec<&'a [MessageCall]>,
    /// How many there have been.
    begun: u64,
    last: u64,
}

/// An event that ends later.
enum Pending {
    /// A call, or a region of the program around other calls.
    Call { region: u32, end: Option<End>, counters: Vec<(u32, u64)> },
    /// The call that has started a request.
    Start { region: u32 },
    /// A request.
    Request { request: u64, end: End },
}

impl<'a> Thread<'a> {
    /// `calls`: the part, and the message calls of all its threads.
    fn open(
        archive: &'a Archive,
        rank: u32,
        thread: u32,
        calls: Option<(usize, Vec<&'a [MessageCall]>)>,
    ) -> Result<Thread<'a>> {
        let events = archive.events(definitions::location(rank, thread))?;
        let (part, mut messages) = calls.unwrap_or_default();
        messages.retain(|call| call[0].record.thread == thread);
        messages.reverse();
        Ok(Thread { events, pending: BTreeMap::new(), part, messages, begun: 0, last: 0 })
    }

    /// The message calls that were entered before this time.
    fn messages_until(&mut self, context: &Context, until_ns: f64) -> Result<()> {
        while let Some(call) = self.messages.pop_if(|call| call[0].enter_ns < until_ns) {
            let first = &call[0];
            let [enter, exit] = [first.enter_ns, first.exit_ns].map(|ns| context.stamps.stamp(ns));
            let region = context.definitions.message_regions[self.part][first.record.operation as usize];
            self.end_until(enter)?;
            self.events.enter(enter, region)?;
            let ends: Vec<(bool, MessageEnd)> = call
                .iter()
                .filter_map(|call| Some((call.is_send() && call.start.is_none(), context.message(self.part, call)?)))
                .collect();
            // A message is sent when its call begins, and has come when its call ends.
            ends.iter().filter(|(at_once, _)| *at_once).try_for_each(|(_, end)| self.events.message(enter, *end))?;
            ends.iter().filter(|(at_once, _)| !at_once).try_for_each(|(_, end)| self.events.message(exit, *end))?;
            self.events.leave(exit.max(enter), region)?;
            self.last = self.last.max(exit);
        }
        Ok(())
    }

    fn call(&mut self, context: &Context, row: &Row) -> Result<()> {
        let (region, _) = context.definitions.regions[row.operation as usize];
        let enter = context.stamps.stamp(row.enter_ns);
        let exit = row.exit_ns.map(|exit| context.stamps.stamp(exit));
        let end = context.end(row);
        self.end_until(enter)?;
        self.last = self.last.max(enter);
        self.events.enter(enter, region)?;
        if let (Some(starting_ns), Some(end)) = (row.starting_ns(), end) {
            let request = self.begun;
            self.events.request(enter, request)?;
            self.later(Some(context.stamps.stamp(row.enter_ns + starting_ns)), Pending::Start { region });
            self.later(exit, Pending::Request { request, end });
            return Ok(());
        }
        if end.is_some() {
            self.events.begin(enter)?;
        }
        let all = 0..context.calls.counter_names.len();
        let counters = all.filter_map(|index| Some((index as u32, row.counters.get(index)?))).collect();
        self.later(exit, Pending::Call { region, end, counters });
        Ok(())
    }

    /// Without a time it does not come.
    fn later(&mut self, time: Option<u64>, pending: Pending) {
        self.begun += 1;
        if let Some(time) = time {
            self.pending.insert((time, Reverse(self.begun)), pending);
        }
    }

    fn end_until(&mut self, until: u64) -> Result<()> {
        while let Some(first) = self.pending.first_entry().filter(|first| first.key().0 <= until) {
            let ((time, _), pending) = first.remove_entry();
            self.last = self.last.max(time);
            match pending {
                Pending::Call { region, end, counters } => {
                    for (counter, value) in counters {
                        self.events.metric(time, counter, value)?;
                    }
                    end.map_or(Ok(()), |end| self.events.end(time, end))?;
                    self.events.leave(time, region)?;
                }
                Pending::Start { region } => self.events.leave(time, region)?,
                Pending::Request { request, end } => self.events.complete(time, end, request)?,
            }
        }
        Ok(())
    }

    /// How many events there were, and when the last.
    fn close(mut self) -> Result<(u64, u64)> {
        self.end_until(u64::MAX)?;
        Ok((self.events.close()?, self.last))
    }
}

impl Context<'_, '_> {
    /// The information in a call about a message; `None`: it only looks for it, or its partner is not known.
    fn message(&self, part: usize, call: &MessageCall) -> Option<MessageEnd> {
        let is_start = call.flags & message::STARTS != 0;
        if call.flags & message::FINDS != 0 {
            return None;
        }
        let entries = self.calls.trace.parts[part].message_operations();
        let entry = &entries[call.record.operation as usize];
        // That of a message which was found before has no request.
        let start = entry.start.checked_sub(1).filter(|&start| entries[start as usize].flags & message::FINDS == 0);
        let request = |operation: u32| Some(u64::from(operation) << 32 | u64::from(call.record.number));
        let is_known = call.start.is_none() || call.message.is_some();
        let (_, partner) = partner::place(entry.partner).or((is_start && !call.is_send()).then_some((0, 0)))?;
        Some(MessageEnd {
            is_send: call.is_send(),
            is_end: start.is_some(),
            request: match (is_start, start) {
                (true, _) => request(call.record.operation),
                (_, Some(start)) => request(start),
                _ => None,
            },
            partner,
            communicator: self.definitions.member(call.communicator.filter(|_| is_known)?, part).reference,
            tag: call.tag.max(0) as u32,
            bytes: self.messages.messages.bytes(call).unwrap_or(0),
        })
    }

    /// `None` for a region of the program.
    fn end(&self, row: &Row) -> Option<End> {
        let operation = &self.calls.operations.operations[row.operation as usize];
        let member = self.definitions.member(operation.key.communicator, row.place.part);
        let collective = self.definitions.regions[row.operation as usize].1?;
        let root = row.root.filter(|_| !member.is_inter).map(|root| root as u32);
        let is_root = root == Some(member.rank);
        let (sent, received) =
            collective.sizes(row.bytes.unwrap_or(0), operation.size.into(), member.rank.into(), is_root);
        Some(End { collective, communicator: member.reference, root: root.unwrap_or(NO_ROOT), sent, received })
    }
}
