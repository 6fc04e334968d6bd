//! A chunk of the arrays, as the thread that fills it sees it.

use mpitrace_format::layout::{
    COLUMNS, ChunkEntry, DISTURBED, INNER_COUNTERS, OPERATION_MASK, REQUEST_COLUMNS, SegmentHeader,
};

use crate::record::entry::Entry;
use crate::record::memory::Mapping;

/// Where the columns of a chunk start.
///
/// The addresses stay with this module and [`crate::record::thread`], which know that a record lies in the chunk;
/// others have a [`Place`].
#[derive(Clone, Copy)]
pub struct Columns {
    /// Ticks at the entry.
    pub(super) enter: *mut u64,
    /// Ticks at the exit.
    pub(super) exit: *mut u64,
    /// Sequence numbers on the communicator.
    pub(super) position: *mut u64,
    /// Calls of the operation before.
    pub(super) repetition: *mut u64,
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
}

// SAFETY: the addresses lead into the trace buffer, which stays mapped; one thread at a time writes to a record.
unsafe impl Send for Columns {}

impl Columns {
    /// No chunk.
    pub const NONE: Columns = Columns {
        enter: std::ptr::null_mut(),
        exit: std::ptr::null_mut(),
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
    };

    /// The columns of the chunk that lies at this offset.
    pub fn of(memory: &'static Mapping, start: u64, header: &SegmentHeader) -> Columns {
        let place = memory.range(start, header.chunk_bytes);
        // They are `COLUMNS`, the counters, `REQUEST_COLUMNS` and the counters of code inside the stack, in that order.
        let at = |column: usize| place.wrapping_add(header.columns[column].offset as usize);
        let inner = header.rank.columns as usize - INNER_COUNTERS;
        let requests = inner - REQUEST_COLUMNS.len();
        Columns {
            enter: at(0).cast(),
            exit: at(1).cast(),
            position: at(2).cast(),
            repetition: at(3).cast(),
            operation: at(4).cast(),
            counters: at(COLUMNS.len()).cast(),
            // A chunk has 16 records or more, so a column of 8 bytes a record is aligned as the next one has to be.
            stride: header.chunk_records as usize,
            count: requests - COLUMNS.len(),
            inner: at(inner).cast(),
            init: at(requests).cast(),
            test: at(requests + 1).cast(),
            wait: at(requests + 2).cast(),
            tests: at(requests + 3).cast(),
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

    /// Stores the tick at the entry, which makes the record count; 0 makes it count no longer.
    #[inline(always)]
    pub fn set_enter(&self, tick: u64) {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { self.columns.enter.add(self.record).write_volatile(tick) };
    }

    /// The tick at the entry.
    #[inline(always)]
    pub fn enter(&self) -> u64 {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { self.columns.enter.add(self.record).read() }
    }

    /// Stores the tick at the exit.
    #[inline(always)]
    pub fn set_exit(&self, tick: u64) {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { self.columns.exit.add(self.record).write_volatile(tick) };
    }

    /// The tick at the exit; 0: it has not come.
    pub fn exit(&self) -> u64 {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { self.columns.exit.add(self.record).read() }
    }

    /// Stores what call it is of.
    #[inline(always)]
    pub fn describe(&self, position: u64, repetition: u64, operation: u32) {
        // SAFETY: the record lies in the chunk (`new`), whose columns have this type.
        unsafe {
            self.columns.position.add(self.record).write(position);
            self.columns.repetition.add(self.record).write(repetition);
            self.columns.operation.add(self.record).write(operation);
        }
    }

    /// Which operation it is of.
    pub fn operation(&self) -> u32 {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { self.columns.operation.add(self.record).read() & OPERATION_MASK }
    }

    /// Gives it another operation; whether it counts as disturbed stays.
    pub fn change_operation(&self, number: u32, repetition: u64) {
        // SAFETY: the record lies in the chunk (`new`), whose columns have this type.
        unsafe {
            let operation = self.columns.operation.add(self.record);
            operation.write(number | operation.read() & DISTURBED);
            self.columns.repetition.add(self.record).write(repetition);
        }
    }

    /// The tracer has delayed it.
    pub fn disturb(&self) {
        // SAFETY: the record lies in the chunk (`new`).
        unsafe { *self.columns.operation.add(self.record) |= DISTURBED };
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

    /// Adds time spent in a Wait for it, ticks.
    pub fn add_wait(&self, ticks: u64) {
        if self.of_request {
            // SAFETY: the record lies in the chunk (`new`), and the column has memory.
            unsafe { *self.columns.wait.add(self.record) += ticks };
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

    /// Stores a counter of code inside the stack. Their columns have memory.
    #[inline(always)]
    pub fn set_inner(&self, slot: usize, value: u64) {
        if slot < INNER_COUNTERS {
            // SAFETY: every chunk has a column for each slot, and the caller has given them memory.
            unsafe { self.columns.inner.add(slot * self.columns.stride + self.record).write(value) };
        }
    }
}

/// Where the two ticks of a record go, which lies in the chunk of its thread.
#[derive(Clone, Copy)]
pub struct Stamps {
    enter: *mut u64,
    exit: *mut u64,
    record: usize,
}

impl Stamps {
    /// # Safety
    /// The columns are those of a chunk that the caller's thread has drawn, and the record lies in it.
    #[inline(always)]
    pub unsafe fn new(columns: &Columns, record: usize) -> Stamps {
        Stamps { enter: columns.enter, exit: columns.exit, record }
    }

    /// Stores the tick at the entry, which makes the record count.
    #[inline(always)]
    pub fn enter(self, tick: u64) {
        // SAFETY: the record lies in the chunk (`new`), to which its thread alone writes.
        unsafe { self.enter.add(self.record).write_volatile(tick) };
    }

    /// Stores the tick at the exit.
    #[inline(always)]
    pub fn exit(self, tick: u64) {
        // SAFETY: the record lies in the chunk (`new`), to which its thread alone writes.
        unsafe { self.exit.add(self.record).write_volatile(tick) };
    }
}

/// Offset and bytes of the columns of a chunk that get memory with this one of the `chunk_flags` (0: with the chunk).
pub fn range_of(header: &SegmentHeader, flag: u32) -> (u64, u64) {
    let columns = &header.columns[..header.rank.columns as usize];
    let first = columns.iter().position(|column| column.on_demand == flag).unwrap_or(columns.len());
    let behind = columns.iter().skip(first).find(|column| column.on_demand != flag);
    let start = columns.get(first).map_or(header.chunk_bytes, |column| column.offset);
    (start, behind.map_or(header.chunk_bytes, |column| column.offset) - start)
}

/// A chunk as it was drawn once: under `ring` it may be drawn again.
#[derive(Clone, Copy)]
pub struct Drawn {
    entry: Entry<ChunkEntry>,
    draw: u64,
}

impl Drawn {
    /// The chunk of this entry, as it is drawn now.
    pub fn now(entry: Entry<ChunkEntry>) -> Drawn {
        Drawn { entry, draw: entry.draw() }
    }

    /// Whether both are of one drawing.
    pub fn is_same(&self, other: &Drawn) -> bool {
        self.draw == other.draw
    }

    /// Whether the chunk still holds the same records: a number that is just being changed differs from ours.
    pub fn is_current(&self) -> bool {
        self.entry.draw_now() == self.draw
    }
}
