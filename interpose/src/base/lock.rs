//! Locks that a panic does not close: what they guard is whole after each store.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; also where a panic, which has ended the tracing, came while it was locked.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
