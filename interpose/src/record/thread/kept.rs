//! The operations and communicators that a thread has called lately, its reader of the counters, and its sums.

use std::any::Any;

use mpitrace_format::layout::{AwaitedMessage, awaited};

use crate::base::errno;
use crate::handles::call::Key;
use crate::handles::call_cache::{Cache, KnownOperation};
use crate::interruptions::watch::Watch;
use crate::record::thread::interval::Interval;
use crate::record::thread::message_state::MessageRecords;
use crate::record::thread::poll_state::Polls;
use crate::record::thread::sends::Sends;
use crate::record::thread::state::{Sums, ThreadRef};

/// Does something with a part of a thread's state.
macro_rules! parts {
    ($($with:ident $part:ident: $kind:ty;)*) => { $(
        #[inline(always)]
        pub fn $with<R>(self, work: impl FnOnce(&mut $kind) -> R) -> R {
            // SAFETY: this thread's own state, of which nothing is borrowed: what `cached` gave was copied. `work` uses
            // the part alone, and runs no code of others.
            work(unsafe { &mut (*self.0.as_ptr()).$part })
        }
    )* };
}

impl ThreadRef {
    /// The operation of a key that this thread has called lately; good until it makes another call.
    #[inline(always)]
    pub fn cached<'c>(self, key: &Key) -> Option<&'c KnownOperation> {
        // SAFETY: this thread's own state; the cache changes only when another call's operation is kept, and the
        // recorder copies what it is given before that.
        unsafe { (*self.0.as_ptr()).cache.find(key) }
    }

    /// The operation of a key, where it is the one that followed this thread's last operation the time before; good
    /// until it makes another call.
    #[inline(always)]
    pub fn cached_again<'c>(self, key: &Key) -> Option<&'c KnownOperation> {
        // SAFETY: as in `cached`.
        unsafe { (*self.0.as_ptr()).cache.find_again(key) }
    }

    parts! {
        with_cache cache: Cache;
        with_interval interval: Interval;
        with_sends sends: Sends;
        with_sums sums: Sums;
        with_messages messages: MessageRecords;
        with_polls polls: Polls;
        with_watch watch: Watch;
    }

    /// Keeps an operation until the next one is looked up.
    pub fn keep_last<'c>(self, found: Option<KnownOperation>) -> Option<&'c KnownOperation> {
        // SAFETY: this thread's own state; what was given here before was copied by the recorder.
        unsafe {
            (*self.0.as_ptr()).found_last = found;
            (*self.0.as_ptr()).found_last.as_ref()
        }
    }

    /// The thread waits for this message, the one with this number among those of the call that it is in; `flags`: of
    /// `layout::awaited`. The call has begun.
    #[inline(always)]
    pub fn await_message(self, number: usize, partner: u64, tag: i32, flags: u32) {
        let call = self.entry().activity() & awaited::CALL;
        self.times().set_awaited(number, AwaitedMessage { partner, tag, flags: flags | call });
    }

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
