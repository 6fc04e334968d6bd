//! Readings of a thread's counters before a call and after it, and the values of the call.
//!
//! The time stamps lie between the two readings, so that reading is outside of what is timed.

use std::ops::Range;

use mpitrace_format::layout::INNER_COUNTERS;

use crate::counters::source::{At, MOST, Source};
use crate::counters::sources;
use crate::record::chunk::Place;

/// All counters of a thread at one moment.
pub type Reading = Box<[u64]>;

/// Reads the counters of one thread.
pub struct CounterReader {
    sources: Vec<Opened>,
    before: Reading,
    after: Reading,
    values: Box<[u64]>,
    /// Columns that every chunk has memory for.
    planned: usize,
}

/// The counters of one kind.
struct Opened {
    source: Box<dyn Source>,
    /// Its words in a reading.
    words: Range<usize>,
    /// Its first column.
    column: usize,
}

impl CounterReader {
    /// Opens the counters for the calling thread, which alone may use them.
    #[cold]
    pub fn open() -> Box<CounterReader> {
        let mut words = 0;
        let opened = |(source, column): (Box<dyn Source>, usize)| {
            let first = words;
            words += source.words();
            Opened { source, words: first..words, column }
        };
        let sources = sources::open().into_iter().map(opened).collect();
        let room = |words: usize| vec![0; words].into_boxed_slice();
        Box::new(CounterReader {
            sources,
            before: room(words),
            after: room(words),
            values: room(MOST.max(INNER_COUNTERS)),
            planned: sources::planned_columns(),
        })
    }

    /// Room for a reading, of zeros.
    pub fn reading(&self) -> Reading {
        vec![0; self.before.len()].into()
    }

    /// Before the call in progress.
    pub fn begin(&mut self, at: At) {
        read_before(&self.sources, at, &mut self.before);
    }

    /// Before something else, a region for one.
    pub fn begin_into(&self, at: At, reading: &mut Reading) {
        read_before(&self.sources, at, reading);
    }

    /// After the call that [`CounterReader::begin`] came before, or what another reading (`since`) did: its values into
    /// the record; with `inner` those of user counters too, whose columns have memory.
    pub fn end(&mut self, at: At, since: Option<&Reading>, place: &Place, inner: bool) {
        for Opened { source, words, .. } in &self.sources {
            source.after(at, &mut self.after[words.clone()]);
        }
        let before = since.unwrap_or(&self.before);
        for Opened { source, words, column } in &self.sources {
            let stored = source.values(&before[words.clone()], &self.after[words.clone()], &mut self.values);
            for (column, &value) in (*column..).zip(&self.values[..stored]) {
                match column.checked_sub(self.planned) {
                    None => place.set_counter(column, value),
                    Some(slot) if inner => place.set_inner(slot, value),
                    Some(_) => {}
                }
            }
        }
    }
}

fn read_before(sources: &[Opened], at: At, reading: &mut Reading) {
    for Opened { source, words, .. } in sources.iter().rev() {
        source.before(at, &mut reading[words.clone()]);
    }
}
