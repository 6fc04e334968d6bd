//! A kind of counters, and what one thread has open of it.
//!
//! A kind is one file with a type that is a [`CounterKind`], and one line in the list in `kinds.rs`
//! (docs/developers/guide.md). Everything else goes by the list: names and columns, the entries in the table of
//! counters, the readings around a call, the values.

use mpitrace_format::layout::CounterEntry;

use crate::base::entry::Entry;
use crate::record::buffer::trace_buffer::TraceBuffer;
use crate::record::thread::ThreadRef;

/// The names that the user asked for. Each kind takes its own out of `events`, the last one all that are left.
#[derive(Default)]
pub struct Wanted {
    pub events: Vec<String>,
    /// `MPITRACE_PVARS`: names and patterns.
    pub pvars: Vec<String>,
    /// MPI_COMM_WORLD can be used.
    pub has_world: bool,
}

/// A counter as the trace's table of counters has it.
#[derive(Clone, Debug, Default)]
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

/// The counters of a kind that can be had here, of those that were asked for.
#[derive(Debug, Default)]
pub struct Plan {
    pub counters: Vec<Counter>,
    /// Counters that were asked for and cannot be had.
    pub left_out: Vec<Counter>,
    /// Messages for the user, a sentence each.
    pub notes: Vec<String>,
}

/// The columns of a kind, when the run begins.
pub struct Started<'a> {
    pub buffer: &'static TraceBuffer,
    pub column: usize,
    /// The entries of the planned counters; `None` where the table is full.
    pub entries: &'a [Option<Entry<CounterEntry>>],
}

pub trait CounterKind: Sync {
    /// Takes its names out of `wanted`, and finds out which of them can be had, at Init, in at most `room` columns.
    fn plan(&self, wanted: &mut Wanted, room: usize) -> Plan;

    fn start(&self, started: Started);

    /// Opens its counters for the calling thread; `None`: there are none that are read around a call. It may allocate,
    /// lock and open files.
    fn open(&self) -> Option<Box<dyn Source>> {
        None
    }

    /// True if what its counters count between two recorded calls has columns of its own.
    fn goes_on(&self) -> bool {
        false
    }

    /// A message for the user at the end of the run.
    fn finish(&self) -> Option<&'static str> {
        None
    }
}

/// The counters of a kind that one thread has open. No function but `words` may allocate, take a lock or call MPI, but
/// for the reading of an MPI_T variable.
pub trait Source {
    /// The words that a reading takes.
    fn words(&self) -> usize;

    /// Reads before the call, which this thread makes.
    fn before(&self, thread: ThreadRef, reading: &mut [u64]);

    fn after(&self, thread: ThreadRef, reading: &mut [u64]) {
        self.before(thread, reading);
    }

    /// The values of the call between two readings, one for each column, `NO_VALUE` where there is none; returns how
    /// many were stored.
    fn values(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> usize;
}

/// The reason of a counter for which no column is left.
pub fn no_column(name: &str) -> String {
    format!("{name}: no column is left for it; ask for fewer counters at once")
}
