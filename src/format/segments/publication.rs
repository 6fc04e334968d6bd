//! How a record is stored and read while others look on: `recover` after a kill, other threads, and other processes.
//!
//! One word says whether what belongs to it counts: of a chunk the number of its draw, of a record the tick at its
//! entry; 0 says that it does not. The writer [`withdraw`]s the word before it changes what belongs to it, and
//! [`publish`]es it when all of that is stored. A word never gets a value a second time, so a reader that finds the
//! value unchanged behind its copy ([`is_unchanged`], [`copy`]) has a whole one.
//!
//! All of it is generic over the [`Word`]. The preloaded library stores to words of a mapped file, and `watch` reads
//! that file. `tests/models` runs the functions of this file on the words of a model checker, which tries every order
//! in which two threads can run through them, on a machine that may reorder whatever is not forbidden here. On x86-64
//! each of them is a plain load or store.
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use mpitrace_format::publication::{Changing, copy, is_short, is_unchanged, publish, whole, withdraw};
//!
//! // A word that counts, and no longer while what belongs to it changes.
//! let word = AtomicU64::new(0);
//! publish(&word, 7);
//! assert!(is_unchanged(&word, 7));
//! withdraw(&word);
//! assert_eq!((word.load(Ordering::Relaxed), is_unchanged(&word, 7)), (0, false));
//!
//! /// A chunk of two records that nobody changes.
//! struct Still;
//! impl Changing for Still {
//!     fn draw(&mut self) -> Option<u64> {
//!         Some(3)
//!     }
//!     fn columns(&self) -> usize {
//!         1
//!     }
//!     fn copy_column(&mut self, _: usize) -> Option<()> {
//!         Some(())
//!     }
//!     fn entries(&mut self) -> Option<Vec<u64>> {
//!         Some(vec![1000, 2000])
//!     }
//!     fn keep_order(&self) {}
//! }
//! assert_eq!(copy(&mut Still), Some((3, vec![1000, 2000])));
//! assert_eq!(whole(&[1000, 2000], &[1000, 2500]), 1, "the second record was changed meanwhile");
//! assert!(is_short(1000) && !is_short(1 << 40));
//! ```

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::layout::{DURATION_FROM, LONG, LONG_FROM, NOT_RETURNED};

/// A word that several threads or processes share.
pub trait Word {
    /// A value of it.
    type Value: Copy + PartialEq;

    /// The value that it has.
    fn load(&self, order: Ordering) -> Self::Value;

    /// Gives it a value.
    fn store(&self, value: Self::Value, order: Ordering);

    /// Orders the loads and stores of this thread, as [`std::sync::atomic::fence`].
    fn fence(&self, order: Ordering);
}

macro_rules! mapped {
    ($($atomic:ident: $value:ty;)*) => { $(
        impl Word for $atomic {
            type Value = $value;

            #[inline(always)]
            fn load(&self, order: Ordering) -> $value {
                $atomic::load(self, order)
            }

            #[inline(always)]
            fn store(&self, value: $value, order: Ordering) {
                $atomic::store(self, value, order);
            }

            #[inline(always)]
            fn fence(&self, order: Ordering) {
                std::sync::atomic::fence(order);
            }
        }
    )* };
}

mapped! {
    AtomicU32: u32;
    AtomicU64: u64;
}

/// The data that belongs to the word is about to change: it counts no longer.
#[inline(always)]
pub fn withdraw(word: &impl Word<Value = u64>) {
    word.store(0, Ordering::Relaxed);
    // Whoever sees one of the changes that follow sees the 0 as well.
    word.fence(Ordering::Release);
}

/// The data that belongs to the word is stored: it counts.
#[inline(always)]
pub fn publish(word: &impl Word<Value = u64>, value: u64) {
    word.store(value, Ordering::Release);
}

/// True if what was read since the word had this value belongs to it.
#[inline(always)]
pub fn is_unchanged(word: &impl Word<Value = u64>, value: u64) -> bool {
    // The reads stay before the load below.
    word.fence(Ordering::Acquire);
    word.load(Ordering::Relaxed) == value
}

/// The words of a record that each call has. Each is asked for where it is stored to: the place of a column is read
/// then.
pub trait StoredRecord {
    /// A word of 64 bits.
    type Long: Word<Value = u64>;
    /// A word of 32 bits.
    type Short: Word<Value = u32>;

    /// The tick at the entry; 0: the record does not count.
    fn enter_word(&self) -> &Self::Long;
    /// The time until the exit, as a live segment has it ([`NOT_RETURNED`] and so on).
    fn duration_word(&self) -> &Self::Short;
    /// The lower half of the sequence number on the communicator.
    fn position_word(&self) -> &Self::Short;
    /// The lower half of the number of calls of the operation before.
    fn repetition_word(&self) -> &Self::Short;
    /// The operation, with the marks of the record.
    fn operation_word(&self) -> &Self::Short;

    /// Stores which call it is, before [`StoredRecord::begin`].
    #[inline(always)]
    fn describe(&self, position: u64, repetition: u64, operation: u32) {
        self.position_word().store(position as u32, Ordering::Relaxed);
        self.repetition_word().store(repetition as u32, Ordering::Relaxed);
        self.operation_word().store(operation, Ordering::Relaxed);
    }

    /// The call begins: stores the tick at its entry, which makes the record count.
    #[inline(always)]
    fn begin(&self, tick: u64) {
        publish(self.enter_word(), tick);
    }

    /// The call has returned after so many ticks, which are [few](is_short).
    #[inline(always)]
    fn end(&self, ticks: u64) {
        self.duration_word().store(ticks as u32 + DURATION_FROM, Ordering::Relaxed);
    }

    /// The call has returned after a long time: the tick at its exit is kept beside the record.
    fn end_long(&self) {
        self.duration_word().store(LONG, Ordering::Relaxed);
    }

    /// The record counts no longer; the next call takes its place.
    fn take_back(&self) {
        withdraw(self.enter_word());
        self.duration_word().store(NOT_RETURNED, Ordering::Relaxed);
    }
}

/// True if the ticks of a call have room in its record. A clock that went back, too, makes it long.
#[inline(always)]
#[must_use]
pub fn is_short(ticks: u64) -> bool {
    ticks < LONG_FROM
}

/// A chunk that goes on changing, of which a reader makes a copy.
pub trait Changing {
    /// The number of its draw; 0: it holds nothing. `None`: it cannot be read.
    fn draw(&mut self) -> Option<u64>;

    /// How many columns are copied, one after the other.
    fn columns(&self) -> usize;

    /// Copies a column, the first of which are the ticks at the entries. `None`: it cannot be read.
    fn copy_column(&mut self, column: usize) -> Option<()>;

    /// The ticks at the entries. `None`: they cannot be read.
    fn entries(&mut self) -> Option<Vec<u64>>;

    /// The loads before it stay before those behind it, as a fence with [`Ordering::Acquire`].
    fn keep_order(&self);
}

/// Copies a chunk: the number of its draw and the ticks at the entries behind the copy. A record is whole if its tick
/// is the same in the copy and behind it ([`whole`]). `None`: it holds nothing, was drawn again meanwhile, or cannot be
/// read.
pub fn copy(chunk: &mut impl Changing) -> Option<(u64, Vec<u64>)> {
    let draw = chunk.draw().filter(|draw| *draw != 0)?;
    chunk.keep_order();
    for column in 0..chunk.columns() {
        chunk.copy_column(column)?;
        chunk.keep_order();
    }
    let entries = chunk.entries()?;
    chunk.keep_order();
    (chunk.draw()? == draw).then_some((draw, entries))
}

/// The number of records at the start of a copied chunk that are whole, by the ticks at the entries in the copy and
/// behind it.
#[must_use]
pub fn whole(copied: &[u64], behind: &[u64]) -> usize {
    copied.iter().zip(behind).take_while(|(tick, again)| tick == again && **tick != 0).count()
}
