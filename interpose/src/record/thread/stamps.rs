//! A thread's records of calls: which call it is, when it was entered and left, and whether it was interrupted.

use mpitrace_format::layout::{
    DURATION_FROM, INTERRUPTED, INTERRUPTED_BEFORE, InterruptionEntry, LONG_FROM, interruption_flags,
};

use crate::record::thread::state::{Record, ThreadRef};
use crate::record::ticks;
use crate::record::watch::Watch;

/// All blocks below are sound since a [`ThreadRef`] is the calling thread's own state, and a [`Record`] lies in the
/// chunk that it fills; no reference to a field outlives the method that made it.
impl ThreadRef {
    /// Stores what call a record is of.
    #[inline(always)]
    pub fn describe(self, record: Record, position: u64, repetition: u64, operation: u32) {
        // SAFETY: as said above. Each column's address is read where it is used, which costs less than copying them
        // all.
        unsafe {
            let thread = self.0.as_ptr();
            (*thread).columns.position.add(record.0).write(position as u32);
            (*thread).columns.repetition.add(record.0).write(repetition as u32);
            (*thread).columns.operation.add(record.0).write(operation);
        }
    }

    /// The call begins: the tick at its entry, which makes the record count.
    #[inline(always)]
    pub fn enter(self, record: Record, now: impl FnOnce() -> u64) -> u64 {
        if self.is_interrupted() {
            self.interrupted(record, ticks::now(), INTERRUPTED_BEFORE, interruption_flags::BETWEEN);
        }
        let tick = now();
        // SAFETY: as said above.
        unsafe { (*self.0.as_ptr()).columns.enter.add(record.0).write_volatile(tick) };
        tick
    }

    /// The call, which was entered at this tick, has returned.
    #[inline(always)]
    pub fn exit(self, record: Record, enter: u64, now: impl FnOnce() -> u64) {
        let tick = now();
        let ticks = tick.wrapping_sub(enter);
        if ticks < LONG_FROM {
            let stored = ticks as u32 + DURATION_FROM;
            // SAFETY: as said above.
            unsafe { (*self.0.as_ptr()).columns.duration.add(record.0).write_volatile(stored) };
        } else {
            self.exit_long_after(record, enter, tick);
        }
        self.look(record, tick);
    }

    /// Looks, at the tick after the call of a record, whether the thread was interrupted in it.
    #[inline(always)]
    pub fn look(self, record: Record, tick: u64) {
        if self.is_interrupted() {
            self.interrupted(record, tick, INTERRUPTED, 0);
        } else if self.watch(|watch| watch.is_due(tick)) {
            self.renew(tick);
        }
    }

    #[inline(always)]
    fn is_interrupted(self) -> bool {
        self.watch(|watch| watch.is_interrupted())
    }

    #[inline(always)]
    fn watch<R>(self, work: impl FnOnce(&mut Watch) -> R) -> R {
        // SAFETY: as said above; `work` is one of the watch's own methods, which run no code of others.
        work(unsafe { &mut (*self.0.as_ptr()).watch })
    }

    #[cold]
    #[inline(never)]
    fn renew(self, tick: u64) {
        self.watch(|watch| watch.renew(tick));
    }

    #[cold]
    #[inline(never)]
    fn exit_long_after(self, record: Record, enter: u64, tick: u64) {
        if let (Some(long_call), Some(buffer)) = (self.place(record).set_exit(enter, tick), self.buffer()) {
            buffer.add_long_call(long_call);
        }
    }

    /// The thread was interrupted in the call of a record, or before it.
    #[cold]
    #[inline(never)]
    fn interrupted(self, record: Record, tick: u64, mark: u32, flags: u32) {
        let Some(seen) = self.watch(|watch| watch.look(tick)) else { return };
        let place = self.place(record);
        place.mark(mark);
        let (record, thread) = (place.number(), self.index());
        let listed = self.buffer().is_some_and(|buffer| {
            buffer.add_interruption(InterruptionEntry { record, thread, flags: seen.flags | flags, ..seen })
        });
        if !listed {
            self.entry().count_unlisted(seen.off_ns);
        }
    }

    /// From now on the thread's interruptions are seen, where they can be.
    #[cold]
    pub(super) fn begin_to_watch(self) {
        let (watch, means) = Watch::open();
        self.watch(|place| *place = watch);
        let entry = self.entry();
        entry.set_interruptions_by(means.by);
        entry.set_without_page(means.without_page);
        entry.set_first_processor(means.first_processor);
    }

    /// In a child that was forked off, nothing is seen any more.
    pub fn forget_interruptions(self) {
        self.watch(Watch::forget);
    }
}
