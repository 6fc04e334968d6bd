//! Calls that are not kept: counted with the time that they took, in a histogram of their operation.
//!
//! There are [`MOST_HISTOGRAMS`], in the trace buffer, so that they survive the process. The first operations of which
//! a call is not kept get one each. Later ones get one when they were called often; until then they share the first
//! histogram, as do those for which none is left. Memory is taken when an operation gets its histogram; all other calls
//! only add to it.
//!
//! Under `ring` a record is counted when its chunk is drawn again: that adds some ns a record to the drawing of a
//! chunk, and nothing to a call.

use std::sync::atomic::{AtomicU64, Ordering};

use mpitrace_format::layout::{
    Buckets, DURATION_FROM, LONG, LongCallEntry, MOST_HISTOGRAMS, NOT_RETURNED, OperationEntry, SHARED_HISTOGRAM,
    bucket_of, live_record,
};

use crate::record::chunk::{Columns, Place};
use crate::record::entry::Entry;
use crate::record::layout::{HISTOGRAMS, LONG_CALLS};
use crate::record::trace_buffer::{State, TraceBuffer};

/// So many operations get a histogram of their own with their first call that is not kept.
const AT_ONCE: u64 = MOST_HISTOGRAMS / 2;
/// The others with this many of them.
const OFTEN: u64 = 64;
/// Counting fewer records than this takes less than 1 us, which delays no call by more than its own stamps do.
const DISTURBING: usize = 256;

/// So many records are counted before they are withdrawn.
const GROUP: usize = 64;

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
            // Under `ring` other threads may count records of the operation.
            let alone = alone && !buffer.is_ring();
            buffer.count_unkept(self.operation, self.exit.saturating_sub(self.enter), alone);
        }
    }
}

impl TraceBuffer {
    /// Counts a call of an operation that took so many ticks. No lock and no allocation, unless the operation gets its
    /// histogram.
    #[inline]
    fn count_unkept(&self, operation: Entry<OperationEntry>, ticks: u64, alone: bool) {
        let histogram = match operation.histogram() {
            known if !self.may_get_own(operation, known) => known,
            _ => self.histogram_of(&mut self.lock(), operation),
        };
        add(operation.timed_word(), 1, alone);
        add(operation.ticks_word(), ticks, alone);
        if let Some(bucket) = self.bucket(histogram, bucket_of(ticks)) {
            add(bucket, 1, alone && histogram != SHARED_HISTOGRAM);
        }
    }

    /// True if an operation with this histogram is to get one of its own.
    #[inline(always)]
    fn may_get_own(&self, operation: Entry<OperationEntry>, histogram: u32) -> bool {
        match histogram {
            0 => true,
            SHARED_HISTOGRAM => operation.timed() >= OFTEN && self.has_histograms(),
            _ => false,
        }
    }

    /// True if there may be histograms left.
    fn has_histograms(&self) -> bool {
        self.tables[HISTOGRAMS].used() < self.layout.regions[HISTOGRAMS].capacity
    }

    /// The histogram that an operation gets: one of its own, or the one that it shares with others. 0: there is no
    /// memory for one.
    #[cold]
    #[inline(never)]
    fn histogram_of(&self, state: &mut State, operation: Entry<OperationEntry>) -> u32 {
        let known = operation.histogram();
        if !self.may_get_own(operation, known) {
            // Another thread was faster.
            return known;
        }
        let table = self.tables[HISTOGRAMS];
        // The first one is shared.
        let used = table.used().max(1);
        let is_own = used < self.layout.regions[HISTOGRAMS].capacity && (used < AT_ONCE || operation.timed() >= OFTEN);
        let wanted = if is_own { used + 1 } else { used };
        if wanted > self.layout.regions[HISTOGRAMS].capacity
            || !self.reserve(state, HISTOGRAMS, wanted * size_of::<Buckets>() as u64)
        {
            // It is asked again at the next call: there is no bit to remember it by, and next to no such machine.
            return known;
        }
        table.set_used(wanted);
        let number = if is_own { wanted as u32 } else { SHARED_HISTOGRAM };
        operation.set_histogram(number);
        number
    }

    /// The number of calls in a bucket; `None` where there is no such histogram.
    #[inline(always)]
    fn bucket(&self, histogram: u32, bucket: usize) -> Option<&AtomicU64> {
        let index = u64::from(histogram).checked_sub(1)?;
        let place = self.layout.regions[HISTOGRAMS].offset + index * size_of::<Buckets>() as u64;
        let word = self.memory.range(place + 8 * bucket as u64, 8).cast();
        // SAFETY: the word lies in the buffer, which stays mapped, on a multiple of 8; a histogram that an operation
        // has got has memory. Words of histograms are used in this way only.
        Some(unsafe { AtomicU64::from_ptr(word) })
    }

    /// Counts the records of a chunk that is about to be drawn again, and withdraws them, from the last to the first: a
    /// kill in between loses none, and counts few twice. True where that took long.
    pub(super) fn count_records(&self, state: &mut State, columns: Columns, draw: u64, records: usize) -> bool {
        let mut end = records;
        while end > 0 {
            let group = end.saturating_sub(GROUP)..end;
            // SAFETY: the caller has drawn the chunk, and draws it for another thread only when this is done.
            let place = |record| unsafe { Place::new(columns, record) };
            self.count_group(state, group.clone().map(place).zip(group.clone()), draw);
            group.clone().rev().for_each(|record| place(record).withdraw());
            end = group.start;
        }
        records >= DISTURBING
    }

    /// Counts some records. A thread that counts a call for which it got no chunk does not hold the lock, so the words
    /// are added to by locked instructions: those of an operation once for its records in a row.
    fn count_group(&self, state: &mut State, records: impl Iterator<Item = (Place, usize)>, draw: u64) {
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
                let histogram = self.histogram_of(state, operation);
                sum = Some(Sum { number, operation, histogram, calls: 0, ticks: 0 });
            }
            if let Some(sum) = &mut sum {
                sum.calls += 1;
                sum.ticks = sum.ticks.wrapping_add(ticks);
                if let Some(bucket) = self.bucket(sum.histogram, bucket_of(ticks)) {
                    add(bucket, 1, false);
                }
            }
        }
        sum.inspect(Sum::store);
    }

    /// The exit of a long call, the caller holding the lock. The last ones come first: there are few of them.
    pub(super) fn exit_of(&self, record: u64) -> Option<u64> {
        let (used, capacity) = (self.tables[LONG_CALLS].used(), self.layout.regions[LONG_CALLS].capacity);
        (used.saturating_sub(capacity)..used).rev().find_map(|number| {
            let entry: Entry<LongCallEntry> = self.entry(LONG_CALLS, number % capacity);
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
