//! A chunk of few records, and what its writer and its readers do.

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::sync::{Mutex, MutexGuard};

use crate::publication;

/// Records of the chunk.
pub const RECORDS: usize = 2;

/// The four steps by which words are shared, so that a test can weaken one of them.
#[derive(Clone, Copy)]
pub struct Protocol {
    /// [`publication::withdraw`].
    pub withdraw: fn(&AtomicU64),
    /// [`publication::publish`].
    pub publish: fn(&AtomicU64, u64),
    /// [`publication::read`].
    pub read: fn(&AtomicU64) -> u64,
    /// [`publication::is_unchanged`].
    pub is_unchanged: fn(&AtomicU64, u64) -> bool,
    /// True if a thread that completes a request keeps others from drawing the chunk.
    pub keeps_from_drawing: bool,
}

/// As the preloaded library has it.
pub const OWN: Protocol = Protocol {
    withdraw: publication::withdraw,
    publish: publication::publish,
    read: publication::read,
    is_unchanged: publication::is_unchanged,
    keeps_from_drawing: true,
};

/// A chunk in the trace buffer.
pub struct Chunk {
    protocol: Protocol,
    /// Taken by whoever draws.
    state: Mutex<()>,
    /// The number of the draw.
    draw: AtomicU64,
    records: [Record; RECORDS],
}

/// A record: two words for all that describes the call.
struct Record {
    enter: AtomicU64,
    exit: AtomicU64,
    position: AtomicU64,
    operation: AtomicU64,
}

/// A reader's copy of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The draw of the chunk.
    pub draw: u64,
    /// The tick at the entry.
    pub enter: u64,
    /// The tick at the exit; 0: it has not come.
    pub exit: u64,
    /// The sequence number.
    pub position: u64,
    /// The operation.
    pub operation: u64,
}

impl Chunk {
    /// One that was drawn for the first time, without records.
    pub fn drawn(protocol: Protocol) -> Chunk {
        let word = || AtomicU64::new(0);
        let record = || Record { enter: word(), exit: word(), position: word(), operation: word() };
        let records = [record(), record()];
        Chunk { protocol, state: Mutex::new(()), draw: AtomicU64::new(1), records }
    }

    /// `TraceBuffer::draw`, under `ring`: what the chunk holds is gone, and it is drawn with this number.
    pub fn draw_again(&self, number: u64) {
        let _state = self.lock();
        (self.protocol.withdraw)(&self.draw);
        for record in &self.records {
            // `Mapping::fill`.
            record.enter.store(0, Ordering::Relaxed);
            record.exit.store(0, Ordering::Relaxed);
        }
        (self.protocol.publish)(&self.draw, number);
    }

    /// A call begins: `describe`, and the tick at its entry. All words of the call with this number are made of it.
    pub fn begin(&self, record: usize, call: u64) {
        let place = &self.records[record];
        place.position.store(call, Ordering::Relaxed);
        place.operation.store(call, Ordering::Relaxed);
        (self.protocol.publish)(&place.enter, call);
    }

    /// It returns: `Stamps::exit`.
    pub fn end(&self, record: usize, call: u64) {
        self.records[record].exit.store(call, Ordering::Relaxed);
    }

    /// It has failed, `afterwards`: the record counts no longer, and the next call takes its place.
    pub fn take_back(&self, record: usize) {
        (self.protocol.withdraw)(&self.records[record].enter);
        self.records[record].exit.store(0, Ordering::Relaxed);
    }

    /// Another thread completes the call of a record that was begun in this draw: `Started::complete`.
    pub fn complete(&self, draw: u64, record: usize, call: u64) {
        let _no_draw = self.protocol.keeps_from_drawing.then(|| self.lock());
        if (self.protocol.is_unchanged)(&self.draw, draw) {
            self.records[record].exit.store(call, Ordering::Relaxed);
        }
    }

    /// A reader in another thread or process: the record, if it counts and is whole.
    pub fn copy(&self, record: usize) -> Option<Copied> {
        let draw = (self.protocol.read)(&self.draw);
        let place = &self.records[record];
        let enter = (self.protocol.read)(&place.enter);
        if draw == 0 || enter == 0 {
            return None;
        }
        let copied = Copied {
            draw,
            enter,
            exit: place.exit.load(Ordering::Relaxed),
            position: place.position.load(Ordering::Relaxed),
            operation: place.operation.load(Ordering::Relaxed),
        };
        let is_whole =
            (self.protocol.is_unchanged)(&place.enter, enter) && (self.protocol.is_unchanged)(&self.draw, draw);
        is_whole.then_some(copied)
    }

    /// The exit of a record, when no other thread runs.
    pub fn exit(&self, record: usize) -> u64 {
        self.records[record].exit.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
