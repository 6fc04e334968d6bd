//! What the counters of a thread stood at before a call, and what they have come to after it.
//!
//! The time stamps lie between the two readings, so that reading is outside of what is timed.

use mpitrace_format::layout::INNER_COUNTERS;

use crate::counters::source::{At, MOST};
use crate::counters::sources::Sources;
use crate::record::chunk::Place;

pub use crate::counters::sources::Reading;

/// Reads the counters of one thread.
pub struct CounterReader {
    sources: Sources,
    values: Box<[u64]>,
}

impl CounterReader {
    /// Opens the counters for the calling thread, which alone may use them.
    #[cold]
    pub fn open() -> Box<CounterReader> {
        let values = vec![0; MOST.max(INNER_COUNTERS)].into();
        Box::new(CounterReader { sources: Sources::open(), values })
    }

    /// Room for a reading.
    pub fn reading(&self) -> Reading {
        self.sources.reading()
    }

    /// Before the call in progress.
    #[inline(always)]
    pub fn begin(&mut self, at: At) {
        self.sources.before(at);
    }

    /// Before something else, a region for one.
    pub fn begin_into(&self, at: At, reading: &mut Reading) {
        self.sources.before_into(at, reading);
    }

    /// After the call that [`CounterReader::begin`] came before, or what another reading (`since`) did: its values into
    /// the record; with `inner` those of code inside the stack too, whose columns have memory.
    #[inline(always)]
    pub fn end(&mut self, at: At, since: Option<&Reading>, place: &Place, inner: bool) {
        self.sources.after(at);
        let store = |column, value| place.set_counter(column, value);
        let store_inner = |slot, value| {
            if inner {
                place.set_inner(slot, value);
            }
        };
        self.sources.values(since, &mut self.values, store, store_inner);
    }
}
