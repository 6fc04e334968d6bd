//! The template of a source of counters: it counts the calls of a thread, and is in no list but the one of its own
//! tests. A new source begins as a copy of this file (docs/developers/guide.md).

use std::cell::Cell;

use mpitrace_format::layout::counter_source;

use crate::counters::source::{At, Counter, Named, Plan, Source, When};

/// A source of counters, as one thread has it open.
pub struct Null {
    calls: Cell<u64>,
}

impl Source for Null {
    /// What was asked for: here, whether the one counter was.
    type Wanted = bool;
    /// A value comes out of a reading before the call and one after it.
    const WHEN: When = When::Around;

    /// A name in MPITRACE_EVENTS.
    fn want(wanted: &mut bool, name: &str) -> Named {
        if name != "null" {
            return Named::NotMine;
        }
        *wanted = true;
        Named::Mine
    }

    /// What of it can be had here, once, in MPI_Init. What cannot gets a reason in `left_out`, and a sentence in
    /// `notes`.
    fn plan(wanted: &bool, room: usize) -> Plan {
        let mut plan = Plan::default();
        let counter =
            Counter { name: "null".to_owned(), unit: "calls", source: counter_source::SOFTWARE, ..Counter::default() };
        match (wanted, room) {
            (false, _) => {}
            (true, 0) => {
                plan.notes.push("null is left out: no column is left for it".to_owned());
                plan.left_out.push(Counter { reason: plan.notes[0].clone(), ..counter });
            }
            (true, _) => plan.counters.push(counter),
        }
        plan
    }

    /// When a thread makes its first call that is counted: it may allocate, lock and open files.
    fn open() -> Null {
        Null { calls: Cell::new(0) }
    }

    /// Words of a reading.
    fn words(&self) -> usize {
        1
    }

    /// On the way of a call: no lock, no allocation, no MPI call.
    fn before(&self, _: At, reading: &mut [u64]) {
        reading[0] = self.calls.get();
    }

    fn after(&self, _: At, reading: &mut [u64]) {
        self.calls.set(self.calls.get() + 1);
        reading[0] = self.calls.get();
    }

    /// The values of the call, one for each planned counter; `NO_VALUE` where there is none.
    fn values(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> usize {
        values[0] = after[0].wrapping_sub(before[0]);
        1
    }
}

/// The list that a source is registered in by one line; here with the template alone.
#[allow(dead_code, reason = "what the library needs of a list and its tests do not")]
mod list {
    use std::ops::Range;
    use std::sync::OnceLock;

    use mpitrace_format::layout::CounterEntry;

    use super::Null;
    use crate::counters::source::{At, Counter, Named, Plan, Source, When};
    use crate::counters::sources::{Opened, read, sources};
    use crate::record::entry::Entry;

    sources! {
        null: Null;
    }
}

#[test]
fn a_name_becomes_a_column_and_each_call_a_value() {
    let mut wanted = list::Wanted::default();
    assert!(wanted.add("null").is_ok());
    assert!(wanted.add("nil").is_err_and(|what| what.contains("nil")));
    let planned = wanted.plan(1);
    assert_eq!((planned.columns(), planned.left_out(), planned.notes().len()), (1, 0, 0));
    let mut entered = Vec::new();
    let started = planned.start(|counter, column| {
        entered.push((counter.name.clone(), column));
        None
    });
    assert_eq!((started, entered), ((false, true), vec![("null".to_owned(), 1)]));

    let mut sources = list::Sources::open();
    let at = At { thread: crate::record::thread::current_or_new().unwrap(), communicator: 0 };
    for _ in 0..2 {
        sources.before(at);
        sources.after(at);
        let mut stored = Vec::new();
        let on_demand = |_, _| unreachable!("it has a column of its own");
        sources.values(None, &mut [0; 4], |column, value| stored.push((column, value)), on_demand);
        assert_eq!(stored, [(0, 1)]);
    }
}

#[test]
fn what_has_no_column_has_a_reason() {
    let mut wanted = list::Wanted::default();
    assert!(wanted.add("null").is_ok());
    let planned = wanted.plan(0);
    assert_eq!((planned.columns(), planned.left_out()), (0, 1));
    assert!(planned.notes()[0].contains("no column is left"));
}
