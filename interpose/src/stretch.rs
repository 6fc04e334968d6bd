//! A stretch of the arrays, as the thread that fills it sees it.

use trace::trace::layout::StretchEntry;

/// Where the columns of a stretch start.
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
    /// No stretch.
    pub const NONE: Columns = Columns {
        enter: std::ptr::null_mut(),
        exit: std::ptr::null_mut(),
        position: std::ptr::null_mut(),
        repetition: std::ptr::null_mut(),
        operation: std::ptr::null_mut(),
        counters: std::ptr::null_mut(),
        stride: 0,
        init: std::ptr::null_mut(),
        test: std::ptr::null_mut(),
        wait: std::ptr::null_mut(),
        tests: std::ptr::null_mut(),
    };
}

/// A stretch as it was drawn once: under `ring` it may be drawn again.
#[derive(Clone, Copy)]
pub struct Drawn {
    entry: *const StretchEntry,
    draw: u64,
}

impl Drawn {
    /// The stretch of this entry, as it is drawn now.
    ///
    /// # Safety
    /// The entry lies in the segment, and the caller has drawn its stretch.
    pub unsafe fn now(entry: *const StretchEntry) -> Drawn {
        // SAFETY: the caller's promise.
        Drawn { entry, draw: unsafe { (*entry).draw } }
    }

    /// Whether the stretch still holds the same records.
    pub fn is_current(&self) -> bool {
        // SAFETY: entries lie in the segment, which stays mapped; a number that is just being changed differs from ours.
        unsafe { self.entry.read_volatile().draw == self.draw }
    }
}
