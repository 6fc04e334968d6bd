//! A thread looks, around its records and outside of them, whether it was interrupted, and keeps what it has seen.

use mpitrace_format::layout::{
    INTERRUPTED, InterruptionEntry, ProcessorTime, ThreadTimes, interruption_flags, live_record, off_place,
};

use crate::base::ticks;
use crate::interruptions::watch::Watch;
use crate::record::thread::state::{Record, ThreadRef, attention};

/// A machine on which so many looks in a row are interrupted runs something else anyway.
const BOUNDARY_LOOKS: usize = 4;

impl ThreadRef {
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
    pub(super) fn is_interrupted(self) -> bool {
        self.with_watch(|watch| watch.is_interrupted())
    }

    #[cold]
    #[inline(never)]
    fn renew(self, tick: u64) {
        self.with_watch(|watch| watch.renew(tick));
        self.keep_processor_time(tick);
    }

    /// Stores the processor time that the last look has read as that at this tick.
    pub fn keep_processor_time(self, tick: u64) -> ProcessorTime {
        let reading = ProcessorTime { ns: self.with_watch(|watch| watch.processor_ns()), tick };
        self.times().set_processor_time(reading);
        reading
    }

    /// The thread was interrupted in the call of a record, or before it.
    #[cold]
    #[inline(never)]
    pub(super) fn interrupted(self, record: Record, tick: u64, mark: u32, flags: u32) {
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
            self.renew(tick);
        }
        // Also where it came while the clocks were read.
        if !self.is_interrupted() {
            return;
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
        self.add_off(place, seen);
        self.keep_processor_time(tick);
    }

    fn add_off(self, place: usize, seen: InterruptionEntry) {
        for (reason, ns) in seen.off_by_reason().into_iter().enumerate() {
            self.times().add_off(place, reason, ns);
        }
    }

    /// Counts interruptions since the last look as the tracer's own, not as the program's: they are in no list.
    pub fn skip_interruptions(self, tick: u64) {
        if !self.is_interrupted() {
            self.renew(tick);
        }
        // Also where it came while the clocks were read.
        if self.is_interrupted()
            && let Some(seen) = self.with_watch(|watch| watch.look(tick))
        {
            self.add_off(off_place::WAITING, seen);
            self.keep_processor_time(tick);
        }
    }

    /// A tick before which all interruptions were looked at, and with which the processor time of the last look goes: a
    /// thread that loses its processor between the two would lack the time in all parts.
    pub fn boundary(self, look: impl Fn(u64)) -> u64 {
        let mut tick = ticks::now();
        for _ in 0..BOUNDARY_LOOKS {
            look(tick);
            tick = ticks::now();
            if !self.is_interrupted() {
                break;
            }
        }
        self.keep_processor_time(tick);
        tick
    }

    /// Sets its times to 0 at the tick that is returned.
    pub fn begin_times(self) -> u64 {
        let tick = self.boundary(|tick| self.skip_interruptions(tick));
        self.clear_times(tick);
        self.set_p2p_stored(0);
        self.set_elsewhere_stored([0; 3]);
        self.set_waits_taken(0);
        tick
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
