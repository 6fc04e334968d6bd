//! The time in calls that are not recorded: point-to-point and one-sided messages, completing requests, input and
//! output of one rank. It shows what a rank that comes late to a collective did.
//!
//! Two time stamps a call, and only where the program's user asked for it. The time is the thread's; a collective takes
//! what has come together on its thread since the one before.

use mpitrace_format::layout::{CounterEntry, counter_source};

use crate::counters::source::{At, Counter, Named, Plan, Source, When};
use crate::record::entry::Entry;
use crate::record::thread::{self, other_mpi};

/// The name in `MPITRACE_EVENTS` and in the trace.
pub const NAME: &str = "p2p-time";

/// The source: what a thread has spent is kept with it.
pub struct P2pTime;

impl Source for P2pTime {
    type Wanted = bool;
    const WHEN: When = When::AtStart;

    fn want(wanted: &mut bool, name: &str) -> Named {
        if name != NAME {
            return Named::NotMine;
        }
        *wanted = true;
        Named::Mine
    }

    fn plan(wanted: &bool, room: usize) -> Plan {
        let mut plan = Plan::default();
        let counter =
            Counter { name: NAME.to_owned(), unit: "ns", source: counter_source::MESSAGES, ..Counter::default() };
        match (wanted, room) {
            (false, _) => {}
            (true, 0) => {
                plan.notes.push(format!("{NAME} is left out: no column is left for it"));
                plan.left_out.push(Counter { reason: plan.notes[0].clone(), ..counter });
            }
            (true, _) => plan.counters.push(counter),
        }
        plan
    }

    fn start(entries: &[Option<Entry<CounterEntry>>]) {
        let Some(&entry) = entries.first() else { return };
        other_mpi::start(entry);
    }

    fn open() -> P2pTime {
        P2pTime
    }

    fn words(&self) -> usize {
        0
    }

    fn before(&self, _: At, _: &mut [u64]) {}

    fn after(&self, _: At, _: &mut [u64]) {}

    fn values(&self, _: &[u64], _: &[u64], _: &mut [u64]) -> usize {
        0
    }

    fn take(values: &mut [u64]) {
        let (Some(value), Some(thread)) = (values.first_mut(), thread::current()) else { return };
        *value = other_mpi::nanoseconds(thread.take_other_mpi());
    }
}
