//! The records of a thread's message calls, in chunks of their own. A record is stored when its call has returned.

use std::sync::atomic::{AtomicBool, Ordering};

use mpitrace_format::layout::{DISTURBED, MESSAGES, MessageEntry};

use crate::record::call_site;
use crate::record::chunk::{Columns, Place};
use crate::record::entry::Entry;
use crate::record::thread::state::ThreadRef;
use crate::record::ticks;

static KEPT: AtomicBool = AtomicBool::new(false);

/// Message calls are recorded from now on.
pub fn start() {
    KEPT.store(true, Ordering::Relaxed);
}

/// True if message calls are recorded.
#[inline(always)]
pub fn are_kept() -> bool {
    KEPT.load(Ordering::Relaxed)
}

/// What makes the operation of a message call, as in [`MessageEntry`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MessageKey {
    pub partner: u64,
    pub tag: i32,
    pub flags: u32,
    pub start: u32,
    pub function: u32,
    pub site: call_site::Number,
}

/// An operation of message calls, with its number.
#[derive(Clone, Copy)]
pub struct KnownMessage {
    pub entry: Entry<MessageEntry>,
    pub number: u32,
}

/// So many operations are known to a thread: a stencil in three dimensions has 26 neighbours, with a start and a
/// completion each way.
const KNOWN: usize = 128;

/// Where the records of a thread's message calls go.
pub struct MessageRecords {
    columns: Columns,
    next: usize,
    end: usize,
    chunk: Option<u32>,
    /// The call that the thread is in, or has left: its ticks, function and call site.
    enter: u64,
    exit: u64,
    function: u32,
    site: call_site::Number,
    /// Operations, each at the place of its key; no memory before the first.
    known: Vec<Option<(MessageKey, KnownMessage)>>,
}

impl MessageRecords {
    /// No records.
    pub const NEW: MessageRecords = MessageRecords {
        columns: Columns::NONE,
        next: 0,
        end: 0,
        chunk: None,
        enter: 0,
        exit: 0,
        function: 0,
        site: 0,
        known: Vec::new(),
    };
}

#[inline(always)]
fn place_of(key: &MessageKey) -> usize {
    let mixed = key.partner
        ^ u64::from(key.tag as u32) << 20
        ^ u64::from(key.flags) << 50
        ^ u64::from(key.start) << 40
        ^ u64::from(key.function) << 8
        ^ u64::from(key.site) << 56;
    // The golden ratio's multiplier spreads what differs into the upper bits.
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - KNOWN.trailing_zeros())) as usize
}

impl ThreadRef {
    #[inline(always)]
    fn with_messages<R>(self, work: impl FnOnce(&mut MessageRecords) -> R) -> R {
        // SAFETY: this thread's own state; `work` is code of this file, which runs no code of others.
        work(unsafe { &mut (*self.0.as_ptr()).messages })
    }

    /// The thread enters a call of this function, from this site, of which records may be.
    pub fn begin_message_call(self, function: u32, site: call_site::Number) {
        let enter = ticks::now();
        self.with_messages(|messages| (messages.function, messages.site, messages.enter) = (function, site, enter));
    }

    /// The call has returned, at this tick.
    pub fn end_message_call(self, tick: u64) {
        self.with_messages(|messages| messages.exit = tick);
    }

    /// The key with function and call site of the call.
    pub fn key_of_message_call(self, key: MessageKey) -> MessageKey {
        self.with_messages(|messages| MessageKey { function: messages.function, site: messages.site, ..key })
    }

    /// The operation of a key that this thread has called lately.
    pub fn known_message(self, key: &MessageKey) -> Option<KnownMessage> {
        self.with_messages(|messages| match messages.known.get(place_of(key)) {
            Some(Some((known, found))) if known == key => Some(*found),
            _ => None,
        })
    }

    /// Keeps the operation of a key.
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
                (messages.columns, messages.next, messages.end) = (new.columns, 0, new.records);
                messages.chunk = Some(new.number);
            });
        }
        let stored = self.with_messages(|messages| {
            if messages.next == messages.end {
                return None;
            }
            // SAFETY: this thread has drawn the chunk, and the record lies in it.
            let place = unsafe { Place::new(messages.columns, messages.next) };
            place.describe(bytes.into(), number.into(), operation | flags);
            let long_call = place.set_exit(messages.enter, messages.exit);
            place.set_enter(messages.enter);
            messages.next += 1;
            long_call
        });
        if let (Some(long_call), Some(buffer)) = (stored, self.buffer()) {
            buffer.add_long_call(long_call);
        }
    }
}
