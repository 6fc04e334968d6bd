//! A value that lasts, found without a lock.

use std::sync::atomic::{AtomicPtr, Ordering};

/// A place for the reference of a value that lasts as long as the process. Setting it anew leaves those who read before
/// with the value before.
pub struct Published<T: 'static>(AtomicPtr<T>);

impl<T: Sync> Published<T> {
    /// Nothing yet.
    pub const fn nothing() -> Published<T> {
        Published(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// The value that was set last.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null, or made from a `&'static T` in `set`, before which all that it leads to was stored; what is
        // shared between threads in this way may be.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Sets the value.
    pub fn set(&self, value: &'static T) {
        self.0.store(std::ptr::from_ref(value).cast_mut(), Ordering::Release);
    }
}
