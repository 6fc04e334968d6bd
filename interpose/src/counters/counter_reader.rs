//! Readings of a thread's counters before a call and after it, and the values of the call.
//!
//! The time stamps lie between the two readings, so that reading is outside of what is timed.

use mpitrace_format::layout::{INNER_COUNTERS, MOST_COUNTERS, NO_VALUE};

use crate::counters::kinds::{self, Columns};
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
    columns: Columns,
    /// After the thread's previous recorded call; it holds nothing before the first one.
    last: Box<[u64]>,
    has_last: bool,
}

impl Opened {
    /// Stores the counts between the thread's previous recorded call and this one.
    #[inline(always)]
    fn store_before(&mut self, place: &RecordPlace, values: &mut [u64]) {
        let (column, count) = self.columns.before;
        if count == 0 {
            return;
        }
        match self.has_last {
            true => _ = self.source.values(&self.last, &self.before, values),
            false => values[..count].fill(NO_VALUE),
        }
        values[..count].iter().enumerate().for_each(|(index, &value)| place.set_counter(column + index, value));
        self.last.copy_from_slice(&self.after);
        self.has_last = true;
    }
}

impl CounterReader {
    /// Opens the counters for the calling thread, which alone may use them.
    #[cold]
    pub fn open() -> Box<CounterReader> {
        let room = |words: usize| vec![0; words].into_boxed_slice();
        let opened = |(source, columns): (Box<dyn Source>, Columns)| {
            let words = source.words();
            let [before, after, last] = [(); 3].map(|()| room(words));
            Opened { source, before, after, columns, last, has_last: false }
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
        let planned = self.kinds.len() - 1;
        for (number, kind) in self.kinds[..read].iter_mut().enumerate() {
            let before = since.map_or(&kind.before, |since| &since[number]);
            let stored = kind.source.values(before, &kind.after, &mut self.values);
            for (index, &value) in self.values[..stored].iter().enumerate() {
                if number < planned {
                    place.set_counter(kind.columns.first + index, value);
                } else {
                    place.set_inner(index, value);
                }
            }
            match since {
                None => kind.store_before(place, &mut self.values),
                // A region is a label over time in which calls lie.
                Some(_) => (0..kind.columns.before.1)
                    .for_each(|index| place.set_counter(kind.columns.before.0 + index, NO_VALUE)),
            }
        }
    }
}
