//! A chunk of the arrays, as the thread that fills it sees it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64};

use mpitrace_format::layout::{
    COLUMNS_ON_DEMAND, DISTURBED, INNER_COUNTERS, LIVE_COLUMNS, LongCallEntry, ON_DEMAND_COLUMNS, OPERATION_MASK,
    RecordColumn, SegmentHeader, WAITED_FOR, chunk_flags, elsewhere, live_record, partner, recorded,
};
use mpitrace_format::publication::{self, StoredRecord};

use crate::base::memory::Mapping;

/// Where the columns of a chunk start.
///
/// The addresses stay with this module and [`crate::record::thread`], which know that a record lies in the chunk;
/// others have a [`RecordPlace`].
#[derive(Clone, Copy)]
pub struct Columns {
    /// Ticks at the entry. The chunk begins with them.
    pub(in crate::record) enter: *mut u64,
    /// Ticks from the entry to the exit, as a live segment has them.
    pub(in crate::record) duration: *mut u32,
    /// Sequence numbers on the communicator, their lower halves.
    pub(in crate::record) position: *mut u32,
    /// Calls of the operation before, their lower halves.
    pub(in crate::record) repetition: *mut u32,
    pub(in crate::record) operation: *mut u32,
    /// Has the places of all columns; null: there is no chunk.
    header: *const SegmentHeader,
    /// The algorithms; only with `chunk_flags::ALGORITHM`.
    pub(in crate::record) algorithm: *mut u32,
    draw: u64,
}

// SAFETY: the addresses lead into the trace buffer, which stays mapped; one thread at a time writes to a record.
unsafe impl Send for Columns {}

impl Columns {
    pub const NONE: Columns = Columns {
        enter: std::ptr::null_mut(),
        duration: std::ptr::null_mut(),
        position: std::ptr::null_mut(),
        repetition: std::ptr::null_mut(),
        operation: std::ptr::null_mut(),
        header: std::ptr::null(),
        algorithm: std::ptr::null_mut(),
        draw: 0,
    };

    pub(in crate::record) fn draw(&self) -> u64 {
        self.draw
    }

    /// The columns of the chunk that lies at this offset, in its draw of this number.
    pub fn new(memory: &'static Mapping, start: u64, header: &'static SegmentHeader, draw: u64) -> Columns {
        let place = memory.range(start, header.chunk_bytes);
        let at = |column: usize| place.wrapping_add(header.columns[column].offset as usize);
        Columns {
            enter: at(0).cast(),
            duration: at(1).cast(),
            position: at(2).cast(),
            repetition: at(3).cast(),
            operation: at(4).cast(),
            header,
            algorithm: at(recorded::ALGORITHM.live_number(header.rank.columns as usize)).cast(),
            draw,
        }
    }

    /// Where the column with this number starts. They are `LIVE_COLUMNS`, the counters, the counters of code inside the
    /// stack and `ON_DEMAND_COLUMNS`, in that order.
    #[inline(always)]
    fn column<T>(&self, number: usize) -> *mut T {
        self.enter.wrapping_byte_add(self.header().columns[number].offset as usize).cast()
    }

    #[inline(always)]
    fn on_demand<T>(&self, column: &RecordColumn) -> *mut T {
        self.column(column.live_number(self.header().rank.columns as usize))
    }

    fn header(&self) -> &'static SegmentHeader {
        // SAFETY: that of the trace buffer, which lasts, since a record lies in the chunk.
        unsafe { &*self.header }
    }

    /// The number of the first column of the counters inside the stack.
    fn inner(&self) -> usize {
        self.header().rank.columns as usize - COLUMNS_ON_DEMAND
    }
}

/// A record in a chunk that its thread has drawn.
#[derive(Clone, Copy)]
pub struct RecordPlace {
    columns: Columns,
    record: usize,
    /// True if the columns of requests have memory.
    of_request: bool,
}

/// All functions that store count on the promise of [`RecordPlace::new`], and on the memory of columns that get it on
/// demand.
impl RecordPlace {
    /// # Safety
    /// The columns are those of a chunk that the caller's thread has drawn, and the record lies in it.
    #[inline(always)]
    pub unsafe fn new(columns: Columns, record: usize) -> RecordPlace {
        RecordPlace { columns, record, of_request: false }
    }

    /// The place with or without memory for its columns of requests.
    #[inline(always)]
    pub(in crate::record) fn with_requests(self, of_request: bool) -> RecordPlace {
        RecordPlace { of_request, ..self }
    }

    #[inline(always)]
    fn value<T>(&self, column: *mut T) -> &Cell<T> {
        // SAFETY: the record lies in the chunk (`new`), whose columns are aligned and stay mapped. A column has the
        // type that its name asks for, and memory: one thread at a time stores to a record.
        unsafe { &*column.add(self.record).cast() }
    }

    #[inline(always)]
    fn short(&self, column: *mut u32) -> &AtomicU32 {
        // SAFETY: as in `value`; all columns of the type have memory from the chunk's beginning on.
        unsafe { AtomicU32::from_ptr(column.add(self.record)) }
    }

    /// The value in a column that not every record uses, and that has memory.
    #[inline(always)]
    pub fn get(&self, column: &RecordColumn) -> u64 {
        match column.width {
            4 => self.value(self.columns.on_demand::<u32>(column)).get().into(),
            _ => self.value(self.columns.on_demand::<u64>(column)).get(),
        }
    }

    /// Stores the value in a column that not every record uses, and that has memory.
    #[inline(always)]
    pub fn set(&self, column: &RecordColumn, value: u64) {
        match column.width {
            4 => self.value(self.columns.on_demand::<u32>(column)).set(value as u32),
            _ => self.value(self.columns.on_demand::<u64>(column)).set(value),
        }
    }

    /// Changes the value in a column of requests, where these have memory.
    #[inline(always)]
    fn change(&self, column: &RecordColumn, change: impl FnOnce(u64) -> u64) {
        if self.of_request {
            self.set(column, change(self.get(column)));
        }
    }

    pub fn withdraw(&self) {
        publication::withdraw(self.enter_word());
    }

    #[inline(always)]
    pub fn enter(&self) -> u64 {
        self.value(self.columns.enter).get()
    }

    /// Stores the tick at the exit of the call, which was entered at `enter`: what must be kept beside the record where
    /// the call was long.
    #[inline(always)]
    #[must_use]
    pub fn set_exit(&self, enter: u64, tick: u64) -> Option<LongCallEntry> {
        let ticks = tick.wrapping_sub(enter);
        if publication::is_short(ticks) {
            self.end(ticks);
            return None;
        }
        self.end_long();
        Some(LongCallEntry { record: self.number(), exit: tick })
    }

    /// The lower half of its position.
    pub fn position(&self) -> u32 {
        self.value(self.columns.position).get()
    }

    /// The lower half of its repetition.
    pub fn repetition(&self) -> u32 {
        self.value(self.columns.repetition).get()
    }

    /// Clears what the columns with these flags of the chunk, all of which have memory, hold of it.
    pub fn clear_on_demand(&self, flags: u32) {
        ON_DEMAND_COLUMNS.iter().filter(|column| flags & column.flag != 0).for_each(|column| self.set(column, 0));
        if flags & chunk_flags::INNER != 0 {
            (0..INNER_COUNTERS).for_each(|slot| self.set_inner(slot, 0));
        }
    }

    pub fn duration(&self) -> u32 {
        self.value(self.columns.duration).get()
    }

    /// The record among all of this rank.
    pub fn number(&self) -> u64 {
        live_record(self.columns.draw, self.record as u32)
    }

    /// Stores the upper half of a position that is not counted on the communicator.
    pub fn set_above(&self, position: u64) {
        self.change(&recorded::ABOVE, |_| position >> 32);
    }

    pub fn operation(&self) -> u32 {
        self.value(self.columns.operation).get() & OPERATION_MASK
    }

    /// Gives it another operation; what is marked at it stays.
    pub fn change_operation(&self, number: u32, repetition: u64) {
        let operation = self.value(self.columns.operation);
        operation.set(number | operation.get() & !OPERATION_MASK);
        self.value(self.columns.repetition).set(repetition as u32);
    }

    /// Gives it another operation, of another communicator.
    pub fn move_to(&self, number: u32, repetition: u64, position: u64) {
        self.change_operation(number, repetition);
        self.value(self.columns.position).set(position as u32);
    }

    /// Marks it with flags of the column of operations.
    pub fn mark(&self, flags: u32) {
        let operation = self.value(self.columns.operation);
        operation.set(operation.get() | flags);
    }

    pub fn is_marked(&self, flags: u32) -> bool {
        self.value(self.columns.operation).get() & flags != 0
    }

    pub fn disturb(&self) {
        self.mark(DISTURBED);
    }

    #[inline(always)]
    pub fn set_counter(&self, column: usize, value: u64) {
        if LIVE_COLUMNS.len() + column < self.columns.inner() {
            self.value(self.columns.column(LIVE_COLUMNS.len() + column)).set(value);
        }
    }

    /// Stores what starting it took, ticks.
    #[inline(always)]
    pub fn set_init(&self, ticks: u64) {
        self.change(&recorded::INIT, |_| ticks);
    }

    /// The program is in a Wait that does not return before it is complete.
    pub fn begin_wait(&self) {
        self.change(&recorded::WAIT, |wait| wait | WAITED_FOR);
    }

    /// Adds time spent in a Wait for it, ticks; the Wait has returned.
    pub fn add_wait(&self, ticks: u64) {
        self.change(&recorded::WAIT, |wait| (wait & !WAITED_FOR).wrapping_add(ticks));
    }

    /// Adds so many Tests for it and the time that they took, ticks.
    pub fn add_tests(&self, ticks: u64, count: u64) {
        self.change(&recorded::TEST, |test| test + ticks);
        self.change(&recorded::TESTS, |tests| tests + count);
    }

    /// Adds time in point-to-point calls before it, ticks, most of it with this partner. The columns have memory.
    pub fn add_p2p(&self, ticks: u64, longest: u64) {
        let sum = self.get(&recorded::P2P);
        // A record in its place was taken back.
        let is_known = sum == 0 || self.get(&recorded::P2P_PARTNER) == longest;
        self.set(&recorded::P2P_PARTNER, if is_known { longest } else { partner::SEVERAL });
        self.set(&recorded::P2P, sum + ticks);
    }

    /// Adds time in other calls before it, ticks by kind. The column has memory.
    pub fn add_elsewhere(&self, ticks: [u64; 3]) {
        self.set(&recorded::ELSEWHERE, elsewhere::add(self.get(&recorded::ELSEWHERE), ticks));
    }

    /// Stores a counter of code inside the stack. Their columns have memory.
    #[inline(always)]
    pub fn set_inner(&self, slot: usize, value: u64) {
        if slot < INNER_COUNTERS {
            self.value(self.columns.column(self.columns.inner() + slot)).set(value);
        }
    }
}

impl StoredRecord for RecordPlace {
    type Long = AtomicU64;
    type Short = AtomicU32;

    #[inline(always)]
    fn enter_word(&self) -> &AtomicU64 {
        // SAFETY: the record lies in the chunk (`new`), whose columns are aligned and stay mapped.
        unsafe { AtomicU64::from_ptr(self.columns.enter.add(self.record)) }
    }

    #[inline(always)]
    fn duration_word(&self) -> &AtomicU32 {
        self.short(self.columns.duration)
    }

    #[inline(always)]
    fn position_word(&self) -> &AtomicU32 {
        self.short(self.columns.position)
    }

    #[inline(always)]
    fn repetition_word(&self) -> &AtomicU32 {
        self.short(self.columns.repetition)
    }

    #[inline(always)]
    fn operation_word(&self) -> &AtomicU32 {
        self.short(self.columns.operation)
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use mpitrace_format::layout::{RankHeader, live_columns, wait_class};

    use super::*;
    use crate::record::buffer::trace_buffer::TraceBuffer;

    #[test]
    fn a_blocking_call_holds_the_time_in_the_calls_before_it() {
        let rank = RankHeader { capacity: 16, ..RankHeader::zeroed() };
        let buffer = TraceBuffer::create(&[], "", rank, &live_columns(0)).unwrap();
        let chunk = buffer.draw(0, None).unwrap();
        buffer.extend_chunk(chunk.number, recorded::ELSEWHERE.flag).unwrap();
        // SAFETY: the chunk has 16 records, and this thread has drawn it. The columns have got their memory.
        let place = unsafe { RecordPlace::new(chunk.columns, 3) };
        place.add_p2p(7, partner::NONE);
        place.add_elsewhere([0, 40, 0]);
        place.add_elsewhere([2, 0, 1]);
        assert_eq!(place.get(&recorded::P2P), 7);
        assert_eq!(elsewhere::ticks_and_class(place.get(&recorded::ELSEWHERE)), (43, wait_class::ONE_SIDED));
    }
}
