//! A chunk of one record, and what its writers and its reader do.

use loom::sync::atomic::Ordering;
use loom::sync::{Mutex, MutexGuard};
use mpitrace_format::layout::{DURATION_FROM, NOT_RETURNED};
use mpitrace_format::publication::{self, Changing, StoredRecord, Word};

use crate::word::{Long, Short, Without, fence_without};

/// The library's protocol, or a weaker one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// The order that is left out.
    pub without: Without,
    /// True if a thread that completes a request keeps others from drawing the chunk.
    pub keeps_from_drawing: bool,
}

/// The protocol of the library.
pub const OWN: Protocol = Protocol { without: Without::Nothing, keeps_from_drawing: true };

/// A chunk in the trace buffer.
pub struct Chunk {
    protocol: Protocol,
    /// Taken by whoever draws.
    state: Mutex<()>,
    /// The number of the draw.
    draw: Long,
    record: Record,
}

/// The record of the chunk. All words of the call with a number are made of the number.
struct Record {
    enter: Long,
    duration: Short,
    position: Short,
    repetition: Short,
    operation: Short,
}

impl StoredRecord for Record {
    type Long = Long;
    type Short = Short;

    fn enter_word(&self) -> &Long {
        &self.enter
    }

    fn duration_word(&self) -> &Short {
        &self.duration
    }

    fn position_word(&self) -> &Short {
        &self.position
    }

    fn repetition_word(&self) -> &Short {
        &self.repetition
    }

    fn operation_word(&self) -> &Short {
        &self.operation
    }
}

/// A reader's copy of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The draw of the chunk.
    pub draw: u64,
    /// The tick at the entry.
    pub enter: u64,
    /// The ticks that the call took; `None`: it has not returned.
    pub ticks: Option<u32>,
    /// The sequence number.
    pub position: u32,
    /// The calls of the operation before.
    pub repetition: u32,
    /// The operation.
    pub operation: u32,
}

impl Chunk {
    /// One that was drawn for the first time, without a record.
    pub fn drawn(protocol: Protocol) -> Chunk {
        let record = Record {
            enter: Long::new(protocol.without),
            duration: Short::default(),
            position: Short::default(),
            repetition: Short::default(),
            operation: Short::default(),
        };
        let chunk = Chunk { protocol, state: Mutex::new(()), draw: Long::new(protocol.without), record };
        publication::publish(&chunk.draw, 1);
        chunk
    }

    /// `TraceBuffer::draw`: what the chunk holds is gone, and it is drawn with this number.
    pub fn draw_again(&self, number: u64) {
        let _state = self.lock();
        publication::withdraw(&self.draw);
        // `Mapping::fill`.
        self.record.enter.store(0, Ordering::Relaxed);
        self.record.duration.store(NOT_RETURNED, Ordering::Relaxed);
        publication::publish(&self.draw, number);
    }

    /// The call with this number begins.
    pub fn begin(&self, call: u32) {
        self.record.describe(call.into(), call.into(), call);
        self.record.begin(call.into());
    }

    /// The call returns, after as many ticks as its number says.
    pub fn end(&self, call: u32) {
        self.record.end(call.into());
    }

    /// The call has failed: the record counts no longer, and the next call takes its place.
    pub fn take_back(&self) {
        self.record.take_back();
    }

    /// Another thread completes the call of a record that was begun in this draw (`Drawn::while_current`).
    pub fn complete(&self, draw: u64, call: u32) {
        let _no_draw = self.protocol.keeps_from_drawing.then(|| self.lock());
        if publication::is_unchanged(&self.draw, draw) {
            self.end(call);
        }
    }

    /// A reader in another thread or process: the record, if it counts and is whole.
    pub fn copy(&self) -> Option<Copied> {
        let mut reader = Reader { chunk: self, enter: 0, others: [0; 4] };
        let (draw, behind) = publication::copy(&mut reader)?;
        let Reader { enter, others: [duration, position, repetition, operation], .. } = reader;
        let ticks = (duration != NOT_RETURNED).then(|| duration - DURATION_FROM);
        let is_whole = publication::whole(&[enter], &behind) == 1;
        is_whole.then_some(Copied { draw, enter, ticks, position, repetition, operation })
    }

    /// The ticks that the call of the record took, when no other thread runs.
    pub fn duration(&self) -> u32 {
        self.record.duration.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What `watch` reads of a file by system calls, a reader in the model reads word by word, in any order within a
/// column.
struct Reader<'c> {
    chunk: &'c Chunk,
    enter: u64,
    others: [u32; 4],
}

impl Changing for Reader<'_> {
    fn draw(&mut self) -> Option<u64> {
        Some(self.chunk.draw.load(Ordering::Relaxed))
    }

    fn columns(&self) -> usize {
        1 + self.others.len()
    }

    fn copy_column(&mut self, column: usize) -> Option<()> {
        let record = &self.chunk.record;
        let words = [&record.duration, &record.position, &record.repetition, &record.operation];
        match column.checked_sub(1) {
            None => self.enter = record.enter.load(Ordering::Relaxed),
            Some(other) => self.others[other] = words[other].load(Ordering::Relaxed),
        }
        Some(())
    }

    fn entries(&mut self) -> Option<Vec<u64>> {
        Some(vec![self.chunk.record.enter.load(Ordering::Relaxed)])
    }

    fn keep_order(&self) {
        fence_without(self.chunk.protocol.without, Ordering::Acquire);
    }
}
