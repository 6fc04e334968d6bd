//! The row of polls that a thread is in ([`mpitrace_format::polls`]), and what is polled in it.

use mpitrace_format::layout::{AwaitedMessage, partner};
use mpitrace_format::polls::Row;

use crate::record::buffer::chunk::RecordPlace;
use crate::record::buffer::drawn::DrawnChunk;

/// So many sets of requests, or sources of messages, are told apart in a row.
const KEPT: usize = 4;
/// Tests of more requests are not quick.
pub const QUICK: usize = 8;

/// The row that a thread is in, or was in last.
pub struct Polls {
    pub(super) polled: [Polled; KEPT],
    pub(super) row: Row,
    /// [`ThreadRef::off_so_far`] when the row began.
    pub(super) off: [u64; 2],
    /// The function of the first poll, as a word of [`activity`].
    pub(super) word: u32,
    pub(super) listed: usize,
    pub(super) last_listed: AwaitedMessage,
    pub partner: u64,
    /// Ticks of the row that count already, as a call that tests requests.
    pub(super) counted: u64,
    /// The collective whose request is polled.
    pub(super) record: Option<(RecordPlace, DrawnChunk)>,
}

/// Requests or messages that are polled.
#[derive(Clone, Copy)]
pub struct Polled {
    /// A number that is not 0.
    pub(super) key: usize,
    /// Polls of it that took the quick way.
    pub quick: u64,
    /// The handles, as they lie in the program's array.
    pub handles: [u64; QUICK],
}

impl Polls {
    pub const NEW: Polls = Polls {
        polled: [Polled { key: 0, quick: 0, handles: [0; QUICK] }; KEPT],
        row: Row::new(0, 0),
        off: [0; 2],
        word: 0,
        listed: 0,
        last_listed: AwaitedMessage { partner: 0, tag: 0, flags: 0 },
        partner: partner::NONE,
        counted: 0,
        record: None,
    };

    pub fn find(&mut self, key: usize) -> Option<&mut Polled> {
        self.polled.iter_mut().find(|polled| polled.key == key)
    }
}
