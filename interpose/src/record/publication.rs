//! The order in which a record, or a chunk of records, becomes visible to others: to `recover` after a kill, and to
//! other threads and processes while it is written.
//!
//! One word says whether what belongs to it counts: of a chunk the number of its draw, of a record the tick at its
//! entry (of a record that is taken back, or a chunk that is drawn again: 0). The writer [`withdraw`]s the word before
//! it changes what belongs to it, and [`publish`]es it when all of that is stored. A reader [`read`]s the word, copies
//! what belongs to it, and has a whole copy if the word [`is_unchanged`] then: a word never gets a value a second time.
//! The chunk's word is held against what was read before the records of the chunk.
//!
//! On x86 each of these is a plain load or store. `tests/models` tries every order in which two threads can run through
//! them, on a machine that may reorder whatever is not forbidden here.

use super::atomics::{AtomicU64, Ordering, fence};

/// The data that belongs to the word is about to change: it counts no longer.
#[inline(always)]
pub fn withdraw(word: &AtomicU64) {
    word.store(0, Ordering::Relaxed);
    // Whoever sees one of the changes that follow sees the 0 as well.
    fence(Ordering::Release);
}

/// The data that belongs to the word is stored: it counts.
#[inline(always)]
pub fn publish(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Release);
}

/// The word, before what belongs to it is read; 0: that does not count.
#[inline(always)]
#[allow(dead_code, reason = "for readers in other processes; tests/models")]
pub fn read(word: &AtomicU64) -> u64 {
    word.load(Ordering::Acquire)
}

/// True if what was read since the word had this value belongs to it.
#[inline(always)]
pub fn is_unchanged(word: &AtomicU64, value: u64) -> bool {
    // The reads stay before the load below.
    fence(Ordering::Acquire);
    word.load(Ordering::Relaxed) == value
}
