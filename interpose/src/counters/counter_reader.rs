//! Readings of a thread's counters before a call and after it, and the values of the call.
//!
//! The time stamps lie between the two readings, so that reading is outside of what is timed.

use mpitrace_format::layout::{INNER_COUNTERS, MOST_COUNTERS};

use crate::counters::kinds;
use crate::counters::source::Source;
use crate::record::buffer::chunk::RecordPlace;
use crate::record::thread::ThreadRef;

/// All counters of a thread at one moment: the words of each kind.
pub type Reading = Vec<Box<[u64]>>;

pub struct CounterReader {
    /// The last are the user counters, which are read as soon as the thread has used one: before that they are 0.
    kinds: Vec<Opened>,
    values: Box<[u64]>,
}

struct Opened {
    source: Box<dyn Source>,
    before: Box<[u64]>,
    after: Box<[u64]>,
    column: usize,
}

impl CounterReader {
    /// Opens the counters for the calling thread, which alone may use them.
    #[cold]
    pub fn open() -> Box<CounterReader> {
        let room = |words: usize| vec![0; words].into_boxed_slice();
        let opened = |(source, column): (Box<dyn Source>, usize)| {
            let words = source.words();
            Opened { source, before: room(words), after: room(words), column }
        };
        let kinds = kinds::open().into_iter().map(opened).collect();
        Box::new(CounterReader { kinds, values: room(MOST_COUNTERS.max(INNER_COUNTERS)) })
    }

    /// Room for a reading, of zeros.
    pub fn reading(&self) -> Reading {
        self.kinds.iter().map(|kind| vec![0; kind.before.len()].into()).collect()
    }

    /// How many kinds are read, with the user counters if `inner`.
    #[inline(always)]
    fn read(&self, inner: bool) -> usize {
        self.kinds.len() - usize::from(!inner)
    }

    /// Before the call in progress.
    #[inline(always)]
    pub fn begin(&mut self, thread: ThreadRef, inner: bool) {
        let read = self.read(inner);
        for kind in self.kinds[..read].iter_mut().rev() {
            kind.source.before(thread, &mut kind.before);
        }
    }

    /// Before something else, a region for one.
    pub fn begin_into(&self, thread: ThreadRef, inner: bool, reading: &mut Reading) {
        let kinds = self.kinds.iter().zip(reading).take(self.read(inner));
        kinds.rev().for_each(|(kind, before)| kind.source.before(thread, before));
    }

    /// After the call that [`CounterReader::begin`] came before, or what another reading (`since`) did: its values into
    /// the record; with `inner` those of user counters too, whose columns have memory.
    #[inline(always)]
    pub fn end(&mut self, thread: ThreadRef, since: Option<&Reading>, place: &RecordPlace, inner: bool) {
        let read = self.read(inner);
        for kind in &mut self.kinds[..read] {
            kind.source.after(thread, &mut kind.after);
        }
        for (number, kind) in self.kinds[..read].iter().enumerate() {
            let before = since.map_or(&kind.before, |since| &since[number]);
            let stored = kind.source.values(before, &kind.after, &mut self.values);
            let is_planned = number + 1 < self.kinds.len();
            for (index, &value) in self.values[..stored].iter().enumerate() {
                if is_planned {
                    place.set_counter(kind.column + index, value);
                } else {
                    place.set_inner(index, value);
                }
            }
        }
    }
}
