//! A thread's records of calls: which call it is, when it was entered and left, and whether it was interrupted.

use std::sync::atomic::{AtomicU32, AtomicU64};

use mpitrace_format::layout::{
    INTERRUPTED, INTERRUPTED_BEFORE, InterruptionEntry, LongCallEntry, ProcessorTime, ThreadTimes, chunk_flags,
    interruption_flags, live_record, off_place,
};
use mpitrace_format::publication::{StoredRecord, is_short};

use crate::record::thread::state::{Record, ThreadRef, attention};
use crate::record::ticks;
use crate::record::watch::Watch;

/// A record of a thread's chunk. The place of a column is read where the record is stored to, which costs less than
/// copying the places of all columns ([`ThreadRef::place`]).
struct Own {
    thread: ThreadRef,
    record: usize,
}

impl Own {
    #[inline(always)]
    fn short(&self, column: *mut u32) -> &AtomicU32 {
        // SAFETY: the record lies in the chunk that the thread fills, whose columns are aligned and stay mapped.
        unsafe { AtomicU32::from_ptr(column.add(self.record)) }
    }
}

/// All blocks below are sound since a [`ThreadRef`] is the calling thread's own state, and a [`Record`] lies in the
/// chunk that it fills; no reference to a field outlives the method that made it.
impl StoredRecord for Own {
    type Long = AtomicU64;
    type Short = AtomicU32;

    #[inline(always)]
    fn enter_word(&self) -> &AtomicU64 {
        // SAFETY: as said above.
        unsafe { AtomicU64::from_ptr((*self.thread.0.as_ptr()).columns.enter.add(self.record)) }
    }

    #[inline(always)]
    fn duration_word(&self) -> &AtomicU32 {
        // SAFETY: as said above.
        self.short(unsafe { (*self.thread.0.as_ptr()).columns.duration })
    }

    #[inline(always)]
    fn position_word(&self) -> &AtomicU32 {
        // SAFETY: as said above.
        self.short(unsafe { (*self.thread.0.as_ptr()).columns.position })
    }

    #[inline(always)]
    fn repetition_word(&self) -> &AtomicU32 {
        // SAFETY: as said above.
        self.short(unsafe { (*self.thread.0.as_ptr()).columns.repetition })
    }

    #[inline(always)]
    fn operation_word(&self) -> &AtomicU32 {
        // SAFETY: as said above.
        self.short(unsafe { (*self.thread.0.as_ptr()).columns.operation })
    }
}

/// All blocks below are sound for the reason that stands above.
impl ThreadRef {
    #[inline(always)]
    fn own(self, record: Record) -> Own {
        Own { thread: self, record: record.0 }
    }

    #[inline(always)]
    pub fn describe(self, record: Record, position: u64, repetition: u64, operation: u32) {
        self.own(record).describe(position, repetition, operation);
    }

    /// The call begins: the tick at its entry, which makes the record count.
    #[inline(always)]
    pub fn enter(self, record: Record, now: impl FnOnce() -> u64) -> u64 {
        if self.is_interrupted() {
            self.interrupted(record, ticks::now(), INTERRUPTED_BEFORE, interruption_flags::BETWEEN);
        }
        let tick = now();
        self.own(record).begin(tick);
        tick
    }

    /// The call, which was entered at this tick, has returned.
    #[inline(always)]
    pub fn exit(self, record: Record, enter: u64, now: impl FnOnce() -> u64) {
        let tick = now();
        let ticks = tick.wrapping_sub(enter);
        if is_short(ticks) {
            self.own(record).end(ticks);
        } else {
            self.end_long_call(record, tick);
        }
        self.look(record, tick);
    }

    /// Keeps the algorithm that the call of a record has entered. False: the column has no memory yet.
    #[inline(always)]
    pub fn keep_algorithm(self, record: Record) -> bool {
        if self.extended() & chunk_flags::ALGORITHM == 0 {
            return false;
        }
        // SAFETY: as said above; the column has memory.
        unsafe {
            let thread = self.0.as_ptr();
            (*thread).columns.algorithm.add(record.0).write(self.algorithm());
        }
        self.set_attention(self.attention() & !attention::ALGORITHM);
        true
    }

    /// Looks, at the tick after the call of a record, whether the thread was interrupted in it.
    #[inline(always)]
    pub fn look(self, record: Record, tick: u64) {
        if self.is_interrupted() {
            self.interrupted(record, tick, INTERRUPTED, 0);
        } else if self.with_watch(|watch| watch.is_due(tick)) {
            self.renew(tick);
        }
    }

    #[inline(always)]
    fn is_interrupted(self) -> bool {
        self.with_watch(|watch| watch.is_interrupted())
    }

    #[cold]
    #[inline(never)]
    fn renew(self, tick: u64) {
        self.with_watch(|watch| watch.renew(tick));
        self.keep_processor_time(tick);
    }

    fn keep_processor_time(self, tick: u64) -> ProcessorTime {
        let reading = ProcessorTime { ns: self.with_watch(|watch| watch.processor_ns()), tick };
        self.times().set_processor_time(reading);
        reading
    }

    /// A long call has returned: its tick is kept beside the record.
    #[cold]
    #[inline(never)]
    fn end_long_call(self, record: Record, exit: u64) {
        self.own(record).end_long();
        if let Some(buffer) = self.buffer() {
            buffer.add_long_call(LongCallEntry { record: self.place(record).number(), exit });
        }
    }

    /// The thread was interrupted in the call of a record, or before it.
    #[cold]
    #[inline(never)]
    fn interrupted(self, record: Record, tick: u64, mark: u32, flags: u32) {
        let Some(seen) = self.with_watch(|watch| watch.look(tick)) else { return };
        let place = self.place(record);
        place.mark(mark);
        self.keep_interruption(InterruptionEntry { record: place.number(), flags: seen.flags | flags, ..seen }, tick);
    }

    /// Looks, before a call that is not recorded and can wait, whether the thread was interrupted.
    #[inline(always)]
    pub fn look_before_wait(self) {
        if self.is_interrupted() {
            self.look_outside(ticks::now(), interruption_flags::BETWEEN);
        }
    }

    #[inline(always)]
    pub fn look_after_wait(self, tick: u64) {
        if self.is_interrupted() || self.with_watch(|watch| watch.is_due(tick)) {
            self.look_outside(tick, interruption_flags::BETWEEN | interruption_flags::WAITING);
        }
    }

    /// Looks whether the thread was interrupted outside of the records; with these flags that is kept. Reads its
    /// processor time in any case.
    #[cold]
    #[inline(never)]
    pub fn look_outside(self, tick: u64, flags: u32) {
        if !self.is_interrupted() {
            return self.renew(tick);
        }
        let Some(seen) = self.with_watch(|watch| watch.look(tick)) else { return };
        self.attend(attention::INTERRUPTED);
        // The next record, or the one that would be behind the last one.
        let record = live_record(self.columns().draw(), self.next() as u32);
        self.keep_interruption(InterruptionEntry { record, flags: seen.flags | flags, ..seen }, tick);
    }

    fn keep_interruption(self, seen: InterruptionEntry, tick: u64) {
        let thread = self.index();
        let listed = self.buffer().is_some_and(|buffer| buffer.put(InterruptionEntry { thread, ..seen }));
        if !listed {
            self.entry().count_unlisted(seen.off_ns);
        }
        let place = match seen.flags & (interruption_flags::BETWEEN | interruption_flags::WAITING) {
            0 => off_place::IN_COLLECTIVE,
            interruption_flags::BETWEEN => off_place::BETWEEN,
            _ => off_place::WAITING,
        };
        for (reason, ns) in seen.off_by_reason().into_iter().enumerate() {
            self.times().add_off(place, reason, ns);
        }
        self.keep_processor_time(tick);
    }

    /// Counts interruptions since the last look as the tracer's own, not as the program's.
    pub fn skip_interruptions(self, tick: u64) {
        if self.is_interrupted() {
            let _ = self.with_watch(|watch| watch.look(tick));
        } else {
            self.renew(tick);
        }
    }

    pub fn begin_times(self, tick: u64) {
        self.skip_interruptions(tick);
        self.clear_times(tick);
        self.set_p2p_stored(0);
        self.set_waits_taken(0);
    }

    fn clear_times(self, tick: u64) {
        let reading = self.keep_processor_time(tick);
        self.times().begin(ThreadTimes { processor: [reading; 2], ..ThreadTimes::default() });
    }

    /// From now on the thread's interruptions are seen, where they can be.
    #[cold]
    pub(super) fn begin_to_watch(self) {
        // The page of the thread that had this state before is unmapped first: the kernel bounds their number.
        self.with_watch(|place| *place = Watch::none());
        let (watch, means) = Watch::open();
        self.with_watch(|place| *place = watch);
        let entry = self.entry();
        entry.set_interruptions_by(means.by);
        entry.set_without_page(means.without_page);
        entry.set_first_processor(means.first_processor);
        self.clear_times(ticks::now());
    }

    /// In a child that was forked off, nothing is seen any more.
    pub fn forget_interruptions(self) {
        self.with_watch(Watch::forget);
    }
}
