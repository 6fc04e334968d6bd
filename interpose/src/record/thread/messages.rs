//! The records of a thread's message calls, in chunks of their own. A record is stored when its call has returned.

use std::sync::atomic::{AtomicBool, Ordering};

use mpitrace_format::layout::{DISTURBED, MESSAGES};
use mpitrace_format::publication::StoredRecord;

use crate::base::ticks;
use crate::call_sites::call_site;
use crate::record::buffer::chunk::RecordPlace;
use crate::record::thread::message_state::{KNOWN, place_of};
use crate::record::thread::state::ThreadRef;

pub use crate::record::thread::message_state::{KnownMessage, MessageKey};

static KEPT: AtomicBool = AtomicBool::new(false);

pub fn start() {
    KEPT.store(true, Ordering::Relaxed);
}

#[inline(always)]
pub fn are_kept() -> bool {
    KEPT.load(Ordering::Relaxed)
}

impl ThreadRef {
    /// The thread enters a call of this function, from this site, of which records may be.
    pub fn begin_message_call(self, function: u32, site: call_site::Number) {
        self.look_before_wait();
        self.with_messages(|messages| (messages.function, messages.site, messages.exit) = (function, site, 0));
        let enter = ticks::now();
        self.with_messages(|messages| messages.enter = enter);
    }

    /// The tick at which the call has returned: now, where this was not asked since it began.
    pub fn end_of_message_call(self) -> u64 {
        self.with_messages(|messages| {
            if messages.exit == 0 {
                messages.exit = ticks::now();
            }
            messages.exit
        })
    }

    /// The key with function and call site of the call.
    pub fn key_of_message_call(self, key: MessageKey) -> MessageKey {
        self.with_messages(|messages| MessageKey { function: messages.function, site: messages.site, ..key })
    }

    pub fn known_message(self, key: &MessageKey) -> Option<KnownMessage> {
        self.with_messages(|messages| match messages.known.get(place_of(key)) {
            Some(Some((known, found))) if known == key => Some(*found),
            _ => None,
        })
    }

    pub fn keep_known_message(self, key: &MessageKey, found: KnownMessage) {
        self.with_messages(|messages| {
            if messages.known.is_empty() && messages.known.try_reserve_exact(KNOWN).is_ok() {
                messages.known.resize(KNOWN, None);
            }
            if let Some(place) = messages.known.get_mut(place_of(key)) {
                *place = Some((*key, found));
            }
        });
    }

    /// Stores the record of the call, of this operation: its number, and the bytes as a live record has them. Nothing
    /// where the arrays are full.
    pub fn store_message(self, operation: u32, bytes: u32, number: u32) {
        let (mut flags, chunk) =
            (0, self.with_messages(|messages| (messages.next == messages.end).then_some(messages.chunk)));
        if let (Some(filled), Some(buffer)) = (chunk, self.buffer()) {
            let drawn = self.as_tracer(|| buffer.draw(self.index() | MESSAGES, filled));
            let Some(new) = drawn else { return };
            flags = if new.took_long { DISTURBED } else { 0 };
            self.with_messages(|messages| {
                (messages.columns, messages.next, messages.end) = (new.columns, new.first, new.records);
                messages.chunk = Some(new.number);
            });
        }
        let stored = self.with_messages(|messages| {
            if messages.next == messages.end {
                return None;
            }
            // SAFETY: this thread has drawn the chunk, and the record lies in it.
            let place = unsafe { RecordPlace::new(messages.columns, messages.next) };
            place.describe(bytes.into(), number.into(), operation | flags);
            let long_call = place.set_exit(messages.enter, messages.exit);
            place.begin(messages.enter);
            messages.next += 1;
            long_call
        });
        if let (Some(long_call), Some(buffer)) = (stored, self.buffer()) {
            buffer.add_long_call(long_call);
        }
    }
}
