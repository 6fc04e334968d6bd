//! Where the records of a thread's message calls go, and which operations they are of.

use mpitrace_format::layout::MessageEntry;

use crate::base::entry::Entry;
use crate::call_sites::call_site;
use crate::record::buffer::chunk::Columns;

/// The properties that make the operation of a message call, as in [`MessageEntry`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MessageKey {
    pub partner: u64,
    pub tag: i32,
    pub flags: u32,
    pub start: u32,
    pub function: u32,
    pub site: call_site::Number,
}

#[derive(Clone, Copy)]
pub struct KnownMessage {
    pub entry: Entry<MessageEntry>,
    pub number: u32,
}

/// So many operations are known to a thread: a stencil in three dimensions has 26 neighbours, with a start and a
/// completion each way.
pub(super) const KNOWN: usize = 128;

/// Where the records of a thread's message calls go.
pub struct MessageRecords {
    pub(super) columns: Columns,
    pub(super) next: usize,
    pub(super) end: usize,
    pub(super) chunk: Option<u32>,
    /// The call that the thread is in, or has left: its ticks, function and call site.
    pub(super) enter: u64,
    pub(super) exit: u64,
    pub(super) function: u32,
    pub(super) site: call_site::Number,
    /// Operations, each at the place of its key; no memory before the first.
    pub(super) known: Vec<Option<(MessageKey, KnownMessage)>>,
}

impl MessageRecords {
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
pub(super) fn place_of(key: &MessageKey) -> usize {
    let mixed = key.partner
        ^ u64::from(key.tag as u32) << 20
        ^ u64::from(key.flags) << 50
        ^ u64::from(key.start) << 40
        ^ u64::from(key.function) << 8
        ^ u64::from(key.site) << 56;
    // The golden ratio's multiplier spreads what differs into the upper bits.
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - KNOWN.trailing_zeros())) as usize
}
