//! A thread's records of calls: which call it is, and when it was entered and left.

use std::sync::atomic::{AtomicU32, AtomicU64};

use mpitrace_format::layout::{INTERRUPTED_BEFORE, LongCallEntry, chunk_flags, interruption_flags};
use mpitrace_format::publication::{StoredRecord, is_short};

use crate::base::ticks;
use crate::record::thread::state::{Record, ThreadRef, attention};

/// A record of a thread's chunk. The place of a column is read where the record is stored to, which costs less than
/// copying the places of all columns ([`ThreadRef::place`]).
struct OwnRecord {
    thread: ThreadRef,
    record: usize,
}

impl OwnRecord {
    #[inline(always)]
    fn short(&self, column: *mut u32) -> &AtomicU32 {
        // SAFETY: the record lies in the chunk that the thread fills, whose columns are aligned and stay mapped.
        unsafe { AtomicU32::from_ptr(column.add(self.record)) }
    }
}

/// All blocks below are sound since a [`ThreadRef`] is the calling thread's own state, and a [`Record`] lies in the
/// chunk that it fills; no reference to a field outlives the method that made it.
impl StoredRecord for OwnRecord {
    type Long = AtomicU64;
    type Short = AtomicU32;

    #[inline(always)]
    fn enter_word(&self) -> &AtomicU64 {
        // SAFETY: the calling thread's own state, and the record lies in its chunk.
        unsafe { AtomicU64::from_ptr((*self.thread.0.as_ptr()).columns.enter.add(self.record)) }
    }

    #[inline(always)]
    fn duration_word(&self) -> &AtomicU32 {
        // SAFETY: the calling thread's own state, and the record lies in its chunk.
        self.short(unsafe { (*self.thread.0.as_ptr()).columns.duration })
    }

    #[inline(always)]
    fn position_word(&self) -> &AtomicU32 {
        // SAFETY: the calling thread's own state, and the record lies in its chunk.
        self.short(unsafe { (*self.thread.0.as_ptr()).columns.position })
    }

    #[inline(always)]
    fn repetition_word(&self) -> &AtomicU32 {
        // SAFETY: the calling thread's own state, and the record lies in its chunk.
        self.short(unsafe { (*self.thread.0.as_ptr()).columns.repetition })
    }

    #[inline(always)]
    fn operation_word(&self) -> &AtomicU32 {
        // SAFETY: the calling thread's own state, and the record lies in its chunk.
        self.short(unsafe { (*self.thread.0.as_ptr()).columns.operation })
    }
}

/// All blocks below are sound for the reason that stands above.
impl ThreadRef {
    #[inline(always)]
    fn own_record(self, record: Record) -> OwnRecord {
        OwnRecord { thread: self, record: record.0 }
    }

    #[inline(always)]
    pub fn describe(self, record: Record, position: u64, repetition: u64, operation: u32) {
        self.own_record(record).describe(position, repetition, operation);
    }

    /// The call begins: the tick at its entry, which makes the record count.
    #[inline(always)]
    pub fn enter(self, record: Record, now: impl FnOnce() -> u64) -> u64 {
        if self.is_interrupted() {
            self.interrupted(record, ticks::now(), INTERRUPTED_BEFORE, interruption_flags::BETWEEN);
        }
        let tick = now();
        self.own_record(record).begin(tick);
        tick
    }

    /// The call, which was entered at this tick, has returned.
    #[inline(always)]
    pub fn exit(self, record: Record, enter: u64, now: impl FnOnce() -> u64) {
        let tick = now();
        let ticks = tick.wrapping_sub(enter);
        if is_short(ticks) {
            self.own_record(record).end(ticks);
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
        // SAFETY: the calling thread's own state, and the record lies in its chunk; the column has memory.
        unsafe {
            let thread = self.0.as_ptr();
            (*thread).columns.algorithm.add(record.0).write(self.algorithm());
        }
        self.set_attention(self.attention() & !attention::ALGORITHM);
        true
    }

    /// A long call has returned: its tick is kept beside the record.
    #[cold]
    #[inline(never)]
    fn end_long_call(self, record: Record, exit: u64) {
        self.own_record(record).end_long();
        if let Some(buffer) = self.buffer() {
            buffer.add_long_call(LongCallEntry { record: self.place(record).number(), exit });
        }
    }
}
