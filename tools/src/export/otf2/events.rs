//! The events, rank by rank: each thread is a location.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use anyhow::Result;

use super::archive::{About, Archive, End, Events};
use super::definitions::{self, CATEGORY, Counts, Definitions, OPERATION, REPETITION};
use crate::export::labels::Labels;
use crate::export::rows::{Calls, Row, Selection};
use crate::export::stamps::Stamps;

/// `OTF2_COLLECTIVE_ROOT_NONE`.
const NO_ROOT: u32 = u32::MAX;

/// Writes them all.
pub fn write(
    archive: &Archive,
    calls: &Calls,
    operation: Option<usize>,
    labels: &Labels,
    stamps: &Stamps,
    definitions: &Definitions,
) -> Result<Counts> {
    let context = Context { calls, labels, stamps, definitions };
    let mut counts = Counts::default();
    for rank in definitions::ranks(calls) {
        // Each rank has a location, as its communicators name it.
        let mut threads = BTreeMap::from([(0, Thread::open(archive, rank, 0)?)]);
        let selection = Selection { operation, rank: Some(rank), limit: None };
        calls.each(selection, |row| {
            let thread = match threads.entry(row.thread) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(Thread::open(archive, rank, row.thread)?),
            };
            thread.call(&context, &row)
        })?;
        for (number, thread) in threads {
            let (count, last) = thread.close()?;
            counts.of_location.insert(definitions::location(rank, number), count);
            counts.last = counts.last.max(last);
        }
    }
    Ok(counts)
}

struct Context<'c> {
    calls: &'c Calls<'c>,
    labels: &'c Labels,
    stamps: &'c Stamps,
    definitions: &'c Definitions,
}

/// A thread of a rank.
struct Thread<'a> {
    events: Events<'a>,
    /// The events still to come, by time; at one time the one begun last comes first, as it lies within the others.
    pending: BTreeMap<(u64, Reverse<u64>), Pending>,
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
    fn open(archive: &'a Archive, rank: u32, thread: u32) -> Result<Thread<'a>> {
        let events = archive.events(definitions::location(rank, thread))?;
        Ok(Thread { events, pending: BTreeMap::new(), begun: 0, last: 0 })
    }

    fn call(&mut self, context: &Context, row: &Row) -> Result<()> {
        let (region, _) = context.definitions.regions[row.operation as usize];
        let enter = context.stamps.stamp(row.enter_ns);
        let exit = row.exit_ns.map(|exit| context.stamps.stamp(exit));
        let end = context.end(row);
        self.end_until(enter)?;
        self.last = self.last.max(enter);
        self.events.enter(enter, region, &context.about(row))?;
        if let (Some(times), Some(end)) = (row.request, end) {
            let request = self.begun;
            self.events.request(enter, request)?;
            self.later(Some(context.stamps.stamp(row.enter_ns + times.init_ns)), Pending::Start { region });
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

impl Context<'_> {
    fn about(&self, row: &Row) -> About {
        let category = self.labels.of_row(row);
        About {
            numbers: [(OPERATION, row.operation.into()), (REPETITION, row.repetition)],
            text: category.map(|category| (CATEGORY, self.definitions.categories[category.place()])),
        }
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
