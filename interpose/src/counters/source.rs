//! What a source of counters is.
//!
//! A source is one file with a type that is a [`Source`], and one line in the list at the end of `sources.rs`;
//! `null.rs` is the template (docs/developers/guide.md). Everything else goes by the list: names and columns, the
//! entries in the table of counters, the readings around a call, the values.

use std::fmt::Debug;

use mpitrace_format::layout::{
    CounterEntry, INNER_COUNTERS, LIVE_COLUMNS, LIVE_REQUEST_COLUMNS, MAX_COLUMNS, TRUE_COLUMNS,
};

use crate::record::entry::Entry;
use crate::record::thread::ThreadRef;

/// Columns for the counters of all sources together: beside those of all records, of requests, of code inside the
/// stack, and the true ticks under a simulated clock.
pub const MOST: usize =
    MAX_COLUMNS - LIVE_COLUMNS.len() - LIVE_REQUEST_COLUMNS.len() - INNER_COUNTERS - TRUE_COLUMNS.len();

/// When a value is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the call: it is what has come together since the one before ([`Source::take`]).
    AtStart,
    /// It comes out of a reading before the call and one after it.
    Around,
    /// As above, into the columns of code inside the stack, which get memory when they are needed. One source can do
    /// so.
    AroundOnDemand,
}

/// Whether a name is one of a source's counters.
#[derive(Debug)]
pub enum Named {
    /// It is, and counts as asked for.
    Mine,
    /// It may be another source's.
    NotMine,
    /// It is none of any source's: why.
    Wrong(String),
}

/// A counter as the trace's table of counters has it.
#[derive(Debug, Default)]
pub struct Counter {
    pub name: String,
    pub unit: &'static str,
    /// One of `mpitrace_format::layout::counter_source`.
    pub source: u32,
    /// Bits of `mpitrace_format::layout::counter_flags`.
    pub flags: u32,
    /// Why it is left out, or counted in part; empty: nothing is to be said.
    pub reason: String,
}

/// What of that which was asked for can be had here.
#[derive(Debug, Default)]
pub struct Plan {
    /// A column each.
    pub counters: Vec<Counter>,
    /// What was asked for and is not there.
    pub left_out: Vec<Counter>,
    /// What is to be said, a sentence each.
    pub notes: Vec<String>,
}

/// The moment of a reading.
#[derive(Clone, Copy)]
pub struct At {
    pub thread: ThreadRef,
    /// Handle of the communicator of the call; 0: none is at hand.
    pub communicator: usize,
}

/// A source of counters, as one thread has it open.
pub trait Source: Sized {
    /// What was asked for.
    type Wanted: Clone + Debug + Default;
    /// When values are known.
    const WHEN: When;

    /// Adds what a name in `MPITRACE_EVENTS` stands for.
    fn want(wanted: &mut Self::Wanted, name: &str) -> Named;

    /// Finds out what of it can be had, at Init, in at most `room` columns.
    fn plan(wanted: &Self::Wanted, room: usize) -> Plan;

    /// The run begins, with these entries for the planned counters (none where the table is full).
    fn start(entries: &[Option<Entry<CounterEntry>>]) {
        let _ = entries;
    }

    /// Opens it for the calling thread.
    fn open() -> Self;

    /// How many words a reading takes.
    fn words(&self) -> usize;

    /// Reads before the call. On its way: no lock, no allocation.
    fn before(&self, at: At, reading: &mut [u64]);

    /// Reads after the call.
    fn after(&self, at: At, reading: &mut [u64]);

    /// The values of the call between two readings, one for each planned counter; how many were stored.
    fn values(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> usize;

    /// With [`When::AtStart`]: takes what has come together. Also where a call is not kept: then nobody looks at the
    /// values.
    fn take(values: &mut [u64]) {
        let _ = values;
    }

    /// The run ends: what there is to say.
    fn finish() -> Option<&'static str> {
        None
    }
}
