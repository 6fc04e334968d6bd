//! The operations and communicators that a thread has called lately, its reader of the counters, and its sums.

use std::any::Any;

use mpitrace_format::layout::{AwaitedMessage, awaited};

use crate::base::errno;
use crate::record::call_cache::{Found, Key, KnownType, Lasts};
use crate::record::communicator::Communicator;
use crate::record::thread::sends::{Destination, Sent};
use crate::record::thread::state::ThreadRef;

impl ThreadRef {
    /// The operation of a key that this thread has called lately; good until it makes another call.
    #[inline(always)]
    pub fn cached<'c>(self, key: &Key) -> Option<&'c Found> {
        // SAFETY: this thread's own state; the cache changes only when another call's operation is kept, and the
        // recorder copies what it is given before that.
        unsafe { (*self.0.as_ptr()).cache.find(key) }
    }

    /// The operation of a key, where it is the one that followed this thread's last operation the time before; good
    /// until it makes another call.
    #[inline(always)]
    pub fn cached_again<'c>(self, key: &Key) -> Option<&'c Found> {
        // SAFETY: as in `cached`.
        unsafe { (*self.0.as_ptr()).cache.find_again(key) }
    }

    /// Keeps the operation of a key that was found in this generation of the handles.
    pub fn keep(self, key: &Key, found: Found, lasts: Lasts, generation: u64) {
        // SAFETY: this thread's own state, of which nothing is borrowed: what `cached` gave was copied.
        unsafe { (*self.0.as_ptr()).cache.keep(key, found, lasts, generation) };
    }

    /// Keeps an operation until the next one is looked up.
    pub fn keep_last<'c>(self, found: Option<Found>) -> Option<&'c Found> {
        // SAFETY: this thread's own state; what was given here before was copied by the recorder.
        unsafe {
            (*self.0.as_ptr()).found_last = found;
            (*self.0.as_ptr()).found_last.as_ref()
        }
    }

    /// The communicator behind a handle, where this thread has kept it lately.
    #[inline(always)]
    pub fn communicator(self, handle: usize) -> Option<&'static Communicator> {
        // SAFETY: this thread's own state; what comes out does not borrow from it.
        unsafe { (*self.0.as_ptr()).cache.communicator(handle) }
    }

    /// Keeps the communicator that was found behind a handle in this generation of the handles.
    pub fn keep_communicator(self, handle: usize, known: &'static Communicator, generation: u64) {
        // SAFETY: this thread's own state, of which nothing is borrowed.
        unsafe { (*self.0.as_ptr()).cache.keep_communicator(handle, known, generation) };
    }

    /// The data type behind a handle, where this thread has kept it lately.
    #[inline(always)]
    pub fn known_type(self, handle: usize) -> Option<KnownType> {
        // SAFETY: this thread's own state.
        unsafe { (*self.0.as_ptr()).cache.known_type(handle) }
    }

    /// Keeps the data type that was found behind a handle in this generation of the handles.
    pub fn keep_type(self, handle: usize, known: KnownType, generation: u64) {
        // SAFETY: this thread's own state, of which nothing is borrowed.
        unsafe { (*self.0.as_ptr()).cache.keep_type(handle, known, generation) };
    }

    /// Adds ticks with a partner since the thread's record before.
    #[inline(always)]
    pub fn add_to_interval(self, partner: u64, ticks: u64) {
        // SAFETY: this thread's own state, of which nothing is borrowed.
        unsafe { (*self.0.as_ptr()).interval.add(partner, ticks) };
    }

    /// The data that was found for a destination, where that is still good.
    #[inline(always)]
    pub fn found_destination(self, destination: Destination) -> Option<Sent> {
        // SAFETY: this thread's own state; what is found is copied.
        unsafe { (*self.0.as_ptr()).sends.find(destination) }
    }

    /// Keeps what was found for a destination in this generation of the handles.
    pub fn keep_destination(self, destination: Destination, generation: u64, found: Sent) {
        // SAFETY: this thread's own state, of which nothing is borrowed.
        unsafe { (*self.0.as_ptr()).sends.keep(destination, generation, found) };
    }

    /// The partner with the most of them, as [`Interval::take`] says.
    ///
    /// [`Interval::take`]: super::interval::Interval::take
    pub fn take_longest_partner(self) -> u64 {
        // SAFETY: this thread's own state, of which nothing is borrowed.
        unsafe { (*self.0.as_ptr()).interval.take() }
    }

    /// The thread waits for this message, the one with this number among those of the call that it is in; `flags`: of
    /// `layout::awaited`. The call has begun.
    #[inline(always)]
    pub fn await_message(self, number: usize, partner: u64, tag: i32, flags: u32) {
        let call = self.entry().activity() & awaited::CALL;
        self.times().set_awaited(number, AwaitedMessage { partner, tag, flags: flags | call });
    }

    /// The sum of a user counter on this thread.
    #[inline(always)]
    pub fn sum(self, slot: usize) -> u64 {
        // SAFETY: this thread's own state; the word is copied.
        unsafe { (*self.0.as_ptr()).sums.sum[slot] }
    }

    /// Adds to a slot.
    #[inline(always)]
    pub fn add(self, slot: usize, value: u64) {
        // SAFETY: this thread's own state; code inside the stack runs on it and holds no reference to its sums.
        let sum = unsafe { &mut (*self.0.as_ptr()).sums.sum[slot] };
        *sum = sum.wrapping_add(value);
    }

    /// When the timer of a slot was started, ticks (0: it is not running); it is set to `next`.
    #[inline(always)]
    pub fn replace_started(self, slot: usize, next: u64) -> u64 {
        // SAFETY: this thread's own state; code inside the stack runs on it and holds no reference to its sums.
        std::mem::replace(unsafe { &mut (*self.0.as_ptr()).sums.started[slot] }, next)
    }

    /// True if the counters of this thread are open.
    #[inline(always)]
    pub fn has_reader(self) -> bool {
        // SAFETY: this thread's own state.
        unsafe { (&raw const (*self.0.as_ptr()).reader).as_ref().is_some_and(Option::is_some) }
    }

    /// The reader of the counters of this thread, of one type in the whole library; opened where it is not yet.
    ///
    /// # Panics
    /// Where it was opened as another type.
    #[inline(always)]
    pub fn with_reader<T: Any, R>(self, open: fn() -> Box<T>, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: this thread's own state. What `work` does may run code inside the stack that counts, which touches
        // the sums and `attention`, and never the reader.
        let reader = unsafe { &mut (*self.0.as_ptr()).reader };
        let reader = reader.get_or_insert_with(|| errno::kept(open));
        work(reader.downcast_mut().expect("one type reads the counters"))
    }
}
