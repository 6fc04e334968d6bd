//! The list of kinds of counters, and what is planned, started and ended with all of them.

use std::sync::OnceLock;

use mpitrace_format::layout::{BEFORE, CounterEntry, MOST_COUNTERS, counter_flags};

use super::message_counters::MessageCounters;
use super::mpi_t::Pvars;
use super::perf::Events;
use super::source::{Counter, CounterKind, Plan, Source, Started, Wanted};
use super::user_counters::UserCounters;
use crate::base::entry::Entry;
use crate::operation::registry;
use crate::record::buffer::trace_buffer::TraceBuffer;

/// The list, in the order of the columns. Before a call they are read from the last to the first, after it from the
/// first to the last, so that events hold nothing of the other readings. Messages are first, as they are taken by
/// column, and user counters last, as their columns get memory on demand.
static KINDS: [&dyn CounterKind; 4] = [&MessageCounters, &Events, &Pvars, &UserCounters];

pub struct Planned {
    plans: [Plan; KINDS.len()],
    /// The first counters of each kind, so many, that have a second column: for what they count before a call.
    before: [usize; KINDS.len()],
}

/// The columns of a kind.
#[derive(Clone, Copy)]
pub struct Columns {
    pub first: usize,
    /// The first one for what is counted before a call, and how many there are.
    pub before: (usize, usize),
}

/// Finds out which counters can be had, at Init.
pub fn plan(mut wanted: Wanted) -> Planned {
    let mut room = MOST_COUNTERS;
    let plans = KINDS.map(|kind| {
        let plan = kind.plan(&mut wanted, room);
        room = room.saturating_sub(plan.counters.len());
        plan
    });
    let before = std::array::from_fn(|kind| {
        let columns = if KINDS[kind].goes_on() { plans[kind].counters.len().min(room) } else { 0 };
        room -= columns;
        columns
    });
    Planned { plans, before }
}

impl Planned {
    /// How many columns they take, without those of user counters.
    pub fn columns(&self) -> usize {
        let first: usize = self.plans.iter().map(|plan| plan.counters.len()).sum();
        first + self.before.iter().sum::<usize>()
    }

    /// Messages for the user, a sentence each.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.plans.iter().flat_map(|plan| &plan.notes).map(String::as_str)
    }

    /// Enters all counters in the table, with those that are left out, and starts them. To be called once, before the
    /// first call is recorded.
    pub fn start(&self, buffer: &'static TraceBuffer) {
        let mut next = 0;
        let mut columns: [Columns; KINDS.len()] = std::array::from_fn(|kind| {
            let Plan { counters, left_out, .. } = &self.plans[kind];
            // Those of the user, which are not known yet, come behind all others.
            let column = if kind + 1 == KINDS.len() { self.columns() } else { next };
            next += counters.len();
            let numbered = counters.iter().zip(column + 1..);
            let entries: Vec<_> = numbered.map(|(counter, number)| enter(buffer, counter, number)).collect();
            for counter in left_out {
                enter(buffer, counter, 0);
            }
            KINDS[kind].start(Started { buffer, column, entries: &entries });
            Columns { first: column, before: (0, 0) }
        });
        for ((columns, plan), &before) in columns.iter_mut().zip(&self.plans).zip(&self.before) {
            columns.before = (next, before);
            for counter in &plan.counters[..before] {
                next += 1;
                let (name, flags) = (counter.name.clone() + BEFORE, counter.flags | counter_flags::BEFORE);
                enter(buffer, &Counter { name, flags, reason: String::new(), ..*counter }, next);
            }
        }
        let _ = COLUMNS.set(columns);
    }
}

/// Adds a counter to the table, with the number of its column from 1; 0: it is left out.
fn enter(buffer: &TraceBuffer, counter: &Counter, column: usize) -> Option<Entry<CounterEntry>> {
    let mut registry = registry::lock()?;
    let (name, unit) = (registry.string(&counter.name), registry.string(counter.unit));
    let reason = if counter.reason.is_empty() { 0 } else { registry.string(&counter.reason) };
    let (source, flags, column) = (counter.source, counter.flags, column as u32);
    let entry = CounterEntry { name, unit, source, column, reason, flags, ..CounterEntry::default() };
    buffer.add(entry).map(|(_, place)| place)
}

static COLUMNS: OnceLock<[Columns; KINDS.len()]> = OnceLock::new();

/// The counters that are read around a call, opened for the calling thread, each kind with its columns. The last are
/// the user counters.
pub fn open() -> Vec<(Box<dyn Source>, Columns)> {
    let columns = COLUMNS.get().into_iter().flatten();
    KINDS.iter().zip(columns).filter_map(|(kind, &column)| Some((kind.open()?, column))).collect()
}

pub fn finish() -> Vec<&'static str> {
    KINDS.iter().filter_map(|kind| kind.finish()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::message_counters;

    fn planned(names: &[&str]) -> Planned {
        plan(Wanted { events: names.iter().map(|&name| name.to_owned()).collect(), ..Wanted::default() })
    }

    /// The kind of a counter, whether it can be counted or not.
    fn place_of(planned: &Planned, name: &str) -> usize {
        let has = |plan: &Plan| {
            let left_out = plan.left_out.iter().map(|counter| &counter.name);
            plan.counters.iter().map(|counter| &counter.name).chain(left_out).any(|known| known == name)
        };
        planned.plans.iter().position(has).expect("a plan of it")
    }

    #[test]
    fn a_counter_named_twice_is_there_once_and_an_unknown_one_is_told() {
        let planned = planned(&["bytes-sent", "messages", "page-faults", "bytes-sent", "page-faults", "cycels"]);
        let [messages, events] = ["bytes-sent", "cycels"].map(|name| &planned.plans[place_of(&planned, name)]);
        let names: Vec<&str> = messages.counters.iter().map(|counter| counter.name.as_str()).collect();
        assert_eq!((names[0], names.len()), (message_counters::NAMES[1], 8));
        assert_eq!(events.counters.len() + events.left_out.len(), 2);
        assert!(events.left_out.iter().any(|counter| counter.name == "cycels" && counter.reason.contains("cycels")));
        assert!(planned.notes().any(|note| note.starts_with("MPITRACE_EVENTS: ") && note.contains("cycels")));
    }

    #[test]
    fn what_can_be_counted_has_a_column_and_what_cannot_a_reason() {
        let planned = planned(&["page-faults", "bytes-put", "p2p-time"]);
        let left_out = planned.plans.iter().flat_map(|plan| &plan.left_out);
        assert!(left_out.clone().all(|counter| counter.reason.contains(&counter.name)));
        // What an event counts before a call has a column of its own.
        let place = place_of(&planned, "page-faults");
        let events = planned.plans[place].counters.len();
        assert!((0..).zip(planned.before).all(|(kind, before)| before == if kind == place { events } else { 0 }));
        assert_eq!(planned.columns() + left_out.count(), 3 + events);
    }
}
