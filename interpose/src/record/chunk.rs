//! A chunk of the arrays, as the thread that fills it sees it.

use mpitrace_format::layout::{COLUMNS, ChunkEntry, INNER_COUNTERS, REQUEST_COLUMNS, SegmentHeader};

/// Where the columns of a chunk start.
#[derive(Clone, Copy)]
pub struct Columns {
    /// Ticks at the entry.
    pub enter: *mut u64,
    /// Ticks at the exit.
    pub exit: *mut u64,
    /// Positions on the communicator.
    pub position: *mut u64,
    /// Calls of the operation before.
    pub repetition: *mut u64,
    /// Operations.
    pub operation: *mut u32,
    /// The first counter, the others behind it.
    pub counters: *mut u64,
    /// Records from one counter's column to the next one's.
    pub stride: usize,
    /// The first counter of code inside the stack, the others behind it; only with [`chunk_flags::INNER`].
    pub inner: *mut u64,
    /// Of non-blocking calls: ticks that starting took.
    pub init: *mut u64,
    /// Ticks spent in Test calls.
    pub test: *mut u64,
    /// Ticks spent in Wait calls.
    pub wait: *mut u64,
    /// Test calls.
    pub tests: *mut u32,
}

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
        inner: std::ptr::null_mut(),
        init: std::ptr::null_mut(),
        test: std::ptr::null_mut(),
        wait: std::ptr::null_mut(),
        tests: std::ptr::null_mut(),
    };

    /// The columns of the chunk that lies at `place`.
    ///
    /// # Safety
    /// A whole chunk of the segment lies there.
    pub unsafe fn at(place: *mut u8, header: &SegmentHeader) -> Columns {
        // SAFETY: a column lies within the chunk. They are `COLUMNS`, the counters, `REQUEST_COLUMNS` and the counters of code
        // inside the stack, in that order.
        let at = |column: usize| unsafe { place.add(header.columns[column].offset as usize) };
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
            inner: at(inner).cast(),
            init: at(requests).cast(),
            test: at(requests + 1).cast(),
            wait: at(requests + 2).cast(),
            tests: at(requests + 3).cast(),
        }
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
    entry: *const ChunkEntry,
    draw: u64,
}

impl Drawn {
    /// The chunk of this entry, as it is drawn now.
    ///
    /// # Safety
    /// The entry lies in the segment, and the caller has drawn its chunk.
    pub unsafe fn now(entry: *const ChunkEntry) -> Drawn {
        // SAFETY: the caller's promise.
        Drawn { entry, draw: unsafe { (*entry).draw } }
    }

    /// Whether the chunk still holds the same records.
    pub fn is_current(&self) -> bool {
        // SAFETY: entries lie in the segment, which stays mapped; a number that is just being changed differs from ours.
        unsafe { self.entry.read_volatile().draw == self.draw }
    }
}
