//! Calls that are not kept: counted with the time that they took, in a histogram of their operation.
//!
//! There are [`MOST_HISTOGRAMS`], in the trace buffer, so that they survive the process. The first operations of which
//! a call is not kept get one each. Later ones get one when they were called often; until then they share the first
//! histogram, as do those for which none is left. Memory is taken with the first call in a row of a histogram, which is
//! a power of two; all other calls only add to it. Where none is left the call is in no bucket, and counted all the
//! same.
//!
//! Under `ring` and in a sample a record is counted when its place is needed: that adds some ns a record to the drawing
//! of a chunk, and nothing to a call.

use std::sync::atomic::{AtomicU64, Ordering};

use mpitrace_format::layout::{
    Buckets, DURATION_FROM, LONG, LongCallEntry, MOST_HISTOGRAMS, NOT_RETURNED, OperationEntry, ROW, SHARED_HISTOGRAM,
    bucket_of, live_record,
};

use crate::base::entry::Entry;
use crate::record::buffer::chunk::RecordPlace;
use crate::record::buffer::layout::{HISTOGRAMS, LONG_CALLS, THREADS};
use crate::record::buffer::trace_buffer::{State, TraceBuffer};
use crate::record::buffer::unkept::NOWHERE;

/// So many operations get a histogram of their own with their first call that is not kept.
const AT_ONCE: u64 = MOST_HISTOGRAMS / 2;
/// The others with this many of them.
const OFTEN: u64 = 64;
/// The amounts that records of one operation in a row add to its entry.
struct Sum {
    number: u32,
    operation: Entry<OperationEntry>,
    histogram: u32,
    calls: u64,
    ticks: u64,
}

impl Sum {
    fn store(&self) {
        add(self.operation.timed_word(), self.calls, false);
        add(self.operation.ticks_word(), self.ticks, false);
    }
}

/// A call that was not kept, as it has returned.
#[derive(Clone, Copy)]
pub struct Unkept {
    pub buffer: Option<&'static TraceBuffer>,
    pub operation: Entry<OperationEntry>,
    /// Ticks at the entry and the exit of the call.
    pub enter: u64,
    pub exit: u64,
}

impl Unkept {
    /// Counts it. `alone`: no other thread calls the operation at the same time, as MPI demands of blocking
    /// collectives.
    #[inline]
    pub fn count(&self, alone: bool) {
        if let Some(buffer) = self.buffer {
            buffer.count_unkept(self.operation, self.exit.saturating_sub(self.enter), alone);
        }
    }
}

impl TraceBuffer {
    /// Counts a call of an operation that took so many ticks. No lock and no allocation, unless the operation gets its
    /// histogram.
    #[inline]
    pub(in crate::record) fn count_unkept(&self, operation: Entry<OperationEntry>, ticks: u64, alone: bool) {
        // Other threads may count records of the operation.
        let alone = alone && (!self.is_sample() || self.tables[THREADS].used() < 2);
        let histogram = match operation.histogram() {
            known if !self.may_get_own(operation, known) => known,
            _ => {
                let _state = self.lock();
                self.histogram_of(operation)
            }
        };
        add(operation.timed_word(), 1, alone);
        add(operation.ticks_word(), ticks, alone);
        if let Some(bucket) = self.bucket(None, histogram, bucket_of(ticks)) {
            add(bucket, 1, alone && histogram != SHARED_HISTOGRAM);
        }
    }

    /// True if an operation with this histogram is to get one of its own.
    #[inline(always)]
    fn may_get_own(&self, operation: Entry<OperationEntry>, histogram: u32) -> bool {
        match histogram {
            0 => true,
            SHARED_HISTOGRAM => operation.timed() >= OFTEN && self.rows.used.load(Ordering::Relaxed) < MOST_HISTOGRAMS,
            _ => false,
        }
    }

    /// The histogram that an operation gets: one of its own, or the one that it shares with others. The caller holds
    /// the lock.
    #[cold]
    #[inline(never)]
    fn histogram_of(&self, operation: Entry<OperationEntry>) -> u32 {
        let known = operation.histogram();
        if !self.may_get_own(operation, known) {
            // Another thread was faster.
            return known;
        }
        // The first one is shared.
        let used = self.rows.used.load(Ordering::Relaxed).max(1);
        let is_own = used < MOST_HISTOGRAMS && (used < AT_ONCE || operation.timed() >= OFTEN);
        self.rows.used.store(used + u64::from(is_own), Ordering::Relaxed);
        let number = if is_own { used as u32 + 1 } else { SHARED_HISTOGRAM };
        operation.set_histogram(number);
        number
    }

    /// The number of calls in a bucket; `None` where there is no memory for its row. With the state where the caller
    /// holds the lock.
    #[inline(always)]
    fn bucket(&self, state: Option<&mut State>, histogram: u32, bucket: usize) -> Option<&AtomicU64> {
        let row = &self.rows.places[histogram as usize - 1][bucket / ROW];
        let place = match (row.load(Ordering::Acquire), state) {
            (0, Some(state)) => self.add_row(state, histogram, bucket / ROW),
            (0, None) => self.add_row(&mut self.lock(), histogram, bucket / ROW),
            (place, _) => place,
        };
        if place == NOWHERE {
            return None;
        }
        let place = self.layout.regions[HISTOGRAMS].offset + u64::from(place - 1) * size_of::<Buckets>() as u64;
        let calls = std::mem::offset_of!(Buckets, calls) + 8 * (bucket % ROW);
        let word = self.memory.range(place + calls as u64, 8).cast();
        // SAFETY: the word lies in the buffer, which stays mapped, on a multiple of 8; a row that has a place has
        // memory. Words of rows are used in this way only.
        Some(unsafe { AtomicU64::from_ptr(word) })
    }

    /// The place of a row, which has none yet.
    #[cold]
    #[inline(never)]
    fn add_row(&self, state: &mut State, histogram: u32, row: usize) -> u16 {
        let known = &self.rows.places[histogram as usize - 1][row];
        if known.load(Ordering::Relaxed) != 0 {
            // Another thread was faster.
            return known.load(Ordering::Relaxed);
        }
        let (table, used) = (self.tables[HISTOGRAMS], self.tables[HISTOGRAMS].used());
        let has_room = used < self.layout.regions[HISTOGRAMS].capacity
            && self.reserve(state, HISTOGRAMS, (used + 1) * size_of::<Buckets>() as u64);
        let mut place = NOWHERE;
        if has_room {
            self.entry(used).write(Buckets { histogram, row: row as u32, calls: [0; ROW] });
            table.set_used(used + 1);
            place = used as u16 + 1;
        }
        known.store(place, Ordering::Release);
        place
    }

    /// Counts some records. A thread that counts a call for which it got no chunk does not hold the lock, so the words
    /// are added to by locked instructions: those of an operation once for its records in a row.
    pub(super) fn count_group(
        &self,
        state: &mut State,
        records: impl Iterator<Item = (RecordPlace, usize)>,
        draw: u64,
    ) {
        let mut sum: Option<Sum> = None;
        for (place, record) in records.filter(|(place, _)| place.enter() != 0) {
            let ticks = match place.duration() {
                NOT_RETURNED => continue,
                LONG => match self.exit_of(live_record(draw, record as u32)) {
                    Some(exit) => exit.saturating_sub(place.enter()),
                    None => continue,
                },
                stored => u64::from(stored - DURATION_FROM),
            };
            let number = place.operation();
            if sum.as_ref().is_none_or(|sum| sum.number != number) {
                sum.take().inspect(Sum::store);
                let operation = self.operation(number);
                let histogram = self.histogram_of(operation);
                sum = Some(Sum { number, operation, histogram, calls: 0, ticks: 0 });
            }
            if let Some(sum) = &mut sum {
                sum.calls += 1;
                sum.ticks = sum.ticks.wrapping_add(ticks);
                if let Some(bucket) = self.bucket(Some(state), sum.histogram, bucket_of(ticks)) {
                    add(bucket, 1, false);
                }
            }
        }
        sum.inspect(Sum::store);
    }

    /// The exit of a long call, the caller holding the lock. The last ones come first: there are few of them.
    pub(in crate::record) fn exit_of(&self, record: u64) -> Option<u64> {
        let (used, capacity) = (self.tables[LONG_CALLS].used(), self.layout.regions[LONG_CALLS].capacity);
        (used.saturating_sub(capacity)..used).rev().find_map(|number| {
            let entry: Entry<LongCallEntry> = self.entry(number % capacity);
            (entry.record() == record).then(|| entry.exit())
        })
    }
}

/// Adds to a word. `alone`: no other thread does so at the same time, which spares the processor a locked instruction.
#[inline(always)]
fn add(word: &AtomicU64, value: u64, alone: bool) {
    match alone {
        true => word.store(word.load(Ordering::Relaxed).wrapping_add(value), Ordering::Relaxed),
        false => {
            word.fetch_add(value, Ordering::Relaxed);
        }
    }
}
