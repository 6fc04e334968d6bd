//! A chunk of the arrays, as the thread that fills it sees it.

use std::sync::atomic::AtomicU64;

use mpitrace_format::layout::{
    DISTURBED, DURATION_FROM, INNER_COUNTERS, LIVE_COLUMNS, LIVE_REQUEST_COLUMNS, LONG, LONG_FROM, LongCallEntry,
    NOT_RETURNED, OPERATION_MASK, SegmentHeader, WAIT_COLUMNS, WAITED_FOR, live_record, partner,
};

use crate::base::memory::Mapping;
use crate::record::publication;

/// Where the columns of a chunk start.
///
/// The addresses stay with this module and [`crate::record::thread`], which know that a record lies in the chunk;
/// others have a [`Place`].
#[derive(Clone, Copy)]
pub struct Columns {
    /// Ticks at the entry.
    pub(super) enter: *mut u64,
    /// Ticks from the entry to the exit, as a live segment has them.
    pub(super) duration: *mut u32,
    /// Sequence numbers on the communicator, their lower halves.
    pub(super) position: *mut u32,
    /// Calls of the operation before, their lower halves.
    pub(super) repetition: *mut u32,
    /// Operations.
    pub(super) operation: *mut u32,
    /// The first counter, the others behind it.
    counters: *mut u64,
    /// Records from one counter's column to the next one's.
    stride: usize,
    /// How many counters there are.
    count: usize,
    /// The first counter of code inside the stack, the others behind it; only with `chunk_flags::INNER`.
    inner: *mut u64,
    /// Of non-blocking calls: ticks that starting took.
    init: *mut u64,
    /// Ticks spent in Test calls.
    test: *mut u64,
    /// Ticks spent in Wait calls.
    wait: *mut u64,
    /// Test calls.
    tests: *mut u32,
    /// Upper halves of positions that are not counted on the communicator.
    above: *mut u32,
    /// Ticks in calls that can wait; only with `chunk_flags::WAITED`.
    p2p: *mut u64,
    /// The partner with the most of them.
    partner: *mut u64,
    /// The number of the chunk's draw.
    draw: u64,
}

// SAFETY: the addresses lead into the trace buffer, which stays mapped; one thread at a time writes to a record.
unsafe impl Send for Columns {}

impl Columns {
    /// No chunk.
    pub const NONE: Columns = Columns {
        enter: std::ptr::null_mut(),
        duration: std::ptr::null_mut(),
        position: std::ptr::null_mut(),
        repetition: std::ptr::null_mut(),
        operation: std::ptr::null_mut(),
        counters: std::ptr::null_mut(),
        stride: 0,
        count: 0,
        inner: std::ptr::null_mut(),
        init: std::ptr::null_mut(),
        test: std::ptr::null_mut(),
        wait: std::ptr::null_mut(),
        tests: std::ptr::null_mut(),
        above: std::ptr::null_mut(),
        p2p: std::ptr::null_mut(),
        partner: std::ptr::null_mut(),
        draw: 0,
    };

    /// The number of the chunk's draw.
    pub(super) fn draw(&self) -> u64 {
        self.draw
    }

    /// The columns of the chunk that lies at this offset, in its draw of this number.
    pub fn of(memory: &'static Mapping, start: u64, header: &SegmentHeader, draw: u64) -> Columns {
        let place = memory.range(start, header.chunk_bytes);
        // They are `LIVE_COLUMNS`, the counters, `LIVE_REQUEST_COLUMNS`, the counters of code inside the stack and
        // `WAIT_COLUMNS`, in that order.
        let at = |column: usize| place.wrapping_add(header.columns[column].offset as usize);
        let waits = header.rank.columns as usize - WAIT_COLUMNS.len();
        let inner = waits - INNER_COUNTERS;
        let requests = inner - LIVE_REQUEST_COLUMNS.len();
        Columns {
            enter: at(0).cast(),
            duration: at(1).cast(),
            position: at(2).cast(),
            repetition: at(3).cast(),
            operation: at(4).cast(),
            counters: at(LIVE_COLUMNS.len()).cast(),
            // A chunk has 16 records or more, so a column of 8 bytes a record is aligned as the next one has to be.
            stride: header.chunk_records as usize,
            count: requests - LIVE_COLUMNS.len(),
            inner: at(inner).cast(),
            init: at(requests).cast(),
            test: at(requests + 1).cast(),
            wait: at(requests + 2).cast(),
            tests: at(requests + 3).cast(),
            above: at(requests + 4).cast(),
            p2p: at(waits).cast(),
            partner: at(waits + 1).cast(),
            draw,
        }
    }
}

/// A record in a chunk that its thread has drawn.
#[derive(Clone, Copy)]
pub struct Place {
    columns: Columns,
    record: usize,
    /// Whether the columns of requests have memory.
    of_request: bool,
}

impl Place {
    /// # Safety
    /// The columns are those of a chunk that the caller's thread has drawn, and the record lies in it.
    #[inline(always)]
    pub unsafe fn new(columns: Columns, record: usize) -> Place {
        Place { columns, record, of_request: false }
    }

    /// The same, whose columns of requests have memory or not.
    #[inline(always)]
    pub(super) fn with_requests(self, of_request: bool) -> Place {
        Place { of_request, ..self }
    }

    /// Stores the tick at the entry, which makes the record count.
    #[inline(always)]
    pub fn set_enter(&self, tick: u64) {
        publication::publish(self.enter_word(), tick);
    }

    /// The record becomes invalid.
    pub fn withdraw(&self) {
        publication::withdraw(self.enter_word());
    }

    #[inline(always)]
    fn enter_word(&self) -> &AtomicU64 {
        // SAFETY: the record lies in the chunk (`new`), whose columns are aligned and stay mapped.
        unsafe { AtomicU64::from_ptr(self.columns.enter.add(self.record)) }
    }

    /// The tick at the entry.
    #[inline(always)]
    pub fn enter(&self) -> u64 {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { self.columns.enter.add(self.record).read() }
    }

    /// Stores the tick at the exit of the call, which was entered at `enter`: what must be kept beside the record where
    /// the call was long.
    #[inline(always)]
    #[must_use]
    pub fn set_exit(&self, enter: u64, tick: u64) -> Option<LongCallEntry> {
        // A clock that went back, too, makes it long.
        let ticks = tick.wrapping_sub(enter);
        let is_long = ticks >= LONG_FROM;
        self.set_duration(if is_long { LONG } else { ticks as u32 + DURATION_FROM });
        is_long.then(|| LongCallEntry { record: self.number(), exit: tick })
    }

    #[inline(always)]
    fn set_duration(&self, stored: u32) {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { self.columns.duration.add(self.record).write_volatile(stored) };
    }

    /// The call has no exit.
    pub fn clear_exit(&self) {
        self.set_duration(NOT_RETURNED);
    }

    /// The duration as it is stored.
    pub fn duration(&self) -> u32 {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { self.columns.duration.add(self.record).read() }
    }

    /// The record among all of this rank.
    pub fn number(&self) -> u64 {
        live_record(self.columns.draw, self.record as u32)
    }

    /// Stores what call it is of.
    #[inline(always)]
    pub fn describe(&self, position: u64, repetition: u64, operation: u32) {
        // SAFETY: the record lies in the chunk (`new`), whose columns have this type.
        unsafe {
            self.columns.position.add(self.record).write(position as u32);
            self.columns.repetition.add(self.record).write(repetition as u32);
            self.columns.operation.add(self.record).write(operation);
        }
    }

    /// Stores the upper half of a position that is not counted on the communicator.
    pub fn set_above(&self, position: u64) {
        if self.of_request {
            // SAFETY: the record lies in the chunk (`new`), and the column has memory.
            unsafe { self.columns.above.add(self.record).write((position >> 32) as u32) };
        }
    }

    /// Which operation it is of.
    pub fn operation(&self) -> u32 {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { self.columns.operation.add(self.record).read() & OPERATION_MASK }
    }

    /// Gives it another operation; what is marked at it stays.
    pub fn change_operation(&self, number: u32, repetition: u64) {
        // SAFETY: the record lies in the chunk (`new`), whose columns have this type.
        unsafe {
            let operation = self.columns.operation.add(self.record);
            operation.write(number | operation.read() & !OPERATION_MASK);
            self.columns.repetition.add(self.record).write(repetition as u32);
        }
    }

    /// Gives it another operation, of another communicator.
    pub fn move_to(&self, number: u32, repetition: u64, position: u64) {
        self.change_operation(number, repetition);
        // SAFETY: the record lies in the chunk (`new`), whose column has this type.
        unsafe { self.columns.position.add(self.record).write(position as u32) };
    }

    /// Marks it with flags of the column of operations.
    pub fn mark(&self, flags: u32) {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { *self.columns.operation.add(self.record) |= flags };
    }

    /// Whether it is marked with any of these flags.
    pub fn is_marked(&self, flags: u32) -> bool {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { self.columns.operation.add(self.record).read() & flags != 0 }
    }

    /// The tracer has delayed it.
    pub fn disturb(&self) {
        self.mark(DISTURBED);
    }

    /// Stores a counter.
    #[inline(always)]
    pub fn set_counter(&self, column: usize, value: u64) {
        if column < self.columns.count {
            // SAFETY: the chunk has so many columns of counters, one behind the other, and the record lies in it
            // (`new`).
            unsafe { self.columns.counters.add(column * self.columns.stride + self.record).write(value) };
        }
    }

    /// Stores what starting it took, ticks.
    #[inline(always)]
    pub fn set_init(&self, ticks: u64) {
        if self.of_request {
            // SAFETY: the record lies in the chunk (`new`), and the column has memory.
            unsafe { self.columns.init.add(self.record).write(ticks) };
        }
    }

    /// The program is in a Wait that does not return before it is complete.
    pub fn begin_wait(&self) {
        if self.of_request {
            // SAFETY: the record lies in the chunk (`new`), and the column has memory.
            unsafe { *self.columns.wait.add(self.record) |= WAITED_FOR };
        }
    }

    /// Adds time spent in a Wait for it, ticks; the Wait has returned.
    pub fn add_wait(&self, ticks: u64) {
        if self.of_request {
            // SAFETY: the record lies in the chunk (`new`), and the column has memory.
            let wait = unsafe { &mut *self.columns.wait.add(self.record) };
            *wait = (*wait & !WAITED_FOR).wrapping_add(ticks);
        }
    }

    /// Adds a Test for it and the time that it took, ticks.
    pub fn add_test(&self, ticks: u64) {
        if self.of_request {
            // SAFETY: the record lies in the chunk (`new`), and both columns have memory.
            unsafe {
                *self.columns.test.add(self.record) += ticks;
                *self.columns.tests.add(self.record) += 1;
            }
        }
    }

    /// Adds time in point-to-point calls before it, ticks, most of it with this partner. The columns have memory.
    pub fn add_p2p(&self, ticks: u64, longest: u64) {
        // SAFETY: the record lies in the chunk (`new`), and the caller has given the columns memory.
        let (sum, partner) =
            unsafe { (&mut *self.columns.p2p.add(self.record), &mut *self.columns.partner.add(self.record)) };
        // A record in its place was taken back.
        *partner = if *sum == 0 || *partner == longest { longest } else { partner::SEVERAL };
        *sum += ticks;
    }

    /// Stores a counter of code inside the stack. Their columns have memory.
    #[inline(always)]
    pub fn set_inner(&self, slot: usize, value: u64) {
        if slot < INNER_COUNTERS {
            // SAFETY: every chunk has a column for each slot, and the caller has given them memory.
            unsafe { self.columns.inner.add(slot * self.columns.stride + self.record).write(value) };
        }
    }
}
