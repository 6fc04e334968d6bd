//! Words of the model checker, whose orders a test can weaken.

use std::sync::{Mutex, PoisonError};

use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use mpitrace_format::publication::Word;

/// An order that is left out, to show that the models find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Without {
    /// All are kept, as in the library.
    Nothing,
    /// `publish` stores without an order.
    Release,
    /// `withdraw` has no fence behind it.
    FenceOfWriter,
    /// A reader has no fences.
    FencesOfReader,
    /// A reader takes each word as unchanged.
    Look,
}

/// A word of 64 bits.
pub struct Long {
    atomic: AtomicU64,
    without: Without,
    /// The value that was loaded first.
    first: Mutex<Option<u64>>,
}

impl Long {
    /// A word that is 0.
    pub fn new(without: Without) -> Long {
        Long { atomic: AtomicU64::new(0), without, first: Mutex::new(None) }
    }
}

impl Word for Long {
    type Value = u64;

    fn load(&self, order: Ordering) -> u64 {
        let value = self.atomic.load(order);
        match self.without {
            Without::Look => *self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(value),
            _ => value,
        }
    }

    fn store(&self, value: u64, order: Ordering) {
        let order = if self.without == Without::Release { Ordering::Relaxed } else { order };
        self.atomic.store(value, order);
    }

    fn fence(&self, order: Ordering) {
        fence_without(self.without, order);
    }
}

/// A word of 32 bits.
pub struct Short(AtomicU32);

impl Default for Short {
    fn default() -> Short {
        Short(AtomicU32::new(0))
    }
}

impl Word for Short {
    type Value = u32;

    fn load(&self, order: Ordering) -> u32 {
        self.0.load(order)
    }

    fn store(&self, value: u32, order: Ordering) {
        self.0.store(value, order);
    }

    fn fence(&self, order: Ordering) {
        fence(order);
    }
}

/// A fence, unless it is left out.
pub fn fence_without(without: Without, order: Ordering) {
    let is_left_out = match order {
        Ordering::Release => without == Without::FenceOfWriter,
        _ => without == Without::FencesOfReader,
    };
    if !is_left_out {
        fence(order);
    }
}
