//! The events, rank by rank: each thread is a location.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BinaryHeap};

use anyhow::Result;
use mpitrace::categories::Category;

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
    /// Requests that are not complete yet, by when they will be.
    open: BinaryHeap<Reverse<(u64, u64)>>,
    ends: BTreeMap<u64, End>,
    requests: u64,
    last: u64,
}

impl<'a> Thread<'a> {
    fn open(archive: &'a Archive, rank: u32, thread: u32) -> Result<Thread<'a>> {
        let events = archive.events(definitions::location(rank, thread))?;
        Ok(Thread { events, open: BinaryHeap::new(), ends: BTreeMap::new(), requests: 0, last: 0 })
    }

    fn call(&mut self, context: &Context, row: &Row) -> Result<()> {
        let (region, _) = context.definitions.regions[row.operation as usize];
        let enter = context.stamps.at(row.enter_ns);
        let exit = row.exit_ns.map(|exit| context.stamps.at(exit));
        let end = context.end(row);
        self.complete_until(enter)?;
        self.events.enter(enter, region, &context.about(row))?;
        if let Some(times) = row.request {
            let request = self.requests;
            self.requests += 1;
            self.events.request(enter, request)?;
            let left = context.stamps.at(row.enter_ns + times.init_ns);
            self.complete_until(left)?;
            self.events.leave(left, region)?;
            if let Some(exit) = exit {
                self.open.push(Reverse((exit, request)));
                self.ends.insert(request, end);
            }
            return Ok(());
        }
        self.events.begin(enter)?;
        // A call that did not return: nothing comes after it.
        let Some(exit) = exit else { return Ok(()) };
        self.complete_until(exit)?;
        for metric in 0..context.calls.counter_names.len() {
            if let Some(value) = row.counters.get(metric) {
                self.events.metric(exit, metric as u32, value)?;
            }
        }
        self.events.end(exit, end)?;
        self.events.leave(exit, region)
    }

    /// Requests that this thread has made may be completed while it is in another call, by another thread.
    fn complete_until(&mut self, time: u64) -> Result<()> {
        self.last = self.last.max(if time == u64::MAX { 0 } else { time });
        while let Some(&Reverse((exit, request))) = self.open.peek().filter(|first| first.0.0 <= time) {
            self.open.pop();
            self.last = self.last.max(exit);
            if let Some(end) = self.ends.remove(&request) {
                self.events.complete(exit, end, request)?;
            }
        }
        Ok(())
    }

    /// How many events there were, and when the last.
    fn close(mut self) -> Result<(u64, u64)> {
        self.complete_until(u64::MAX)?;
        Ok((self.events.close()?, self.last))
    }
}

impl Context<'_> {
    fn about(&self, row: &Row) -> About {
        let index = |category: Category| Category::ALL.iter().position(|other| *other == category);
        let category = self.labels.of_row(row).and_then(index);
        About {
            numbers: [(OPERATION, row.operation.into()), (REPETITION, row.repetition)],
            text: category.map(|index| (CATEGORY, self.definitions.categories[index])),
        }
    }

    fn end(&self, row: &Row) -> End {
        let operation = &self.calls.operations.operations[row.operation as usize];
        let member = self.definitions.member(operation.key.communicator, row.place.part);
        let (_, collective) = self.definitions.regions[row.operation as usize];
        let root = row.root.filter(|_| !member.is_inter).map(|root| root as u32);
        let is_root = root == Some(member.rank);
        let (sent, received) =
            collective.sizes(row.bytes.unwrap_or(0), operation.size.into(), member.rank.into(), is_root);
        End { collective, communicator: member.reference, root: root.unwrap_or(NO_ROOT), sent, received }
    }
}
