//! The records of regions: repetitions that a program begins and ends by hand.

use std::sync::atomic::{Ordering, compiler_fence};

use mpitrace_format::publication::StoredRecord;

use crate::base::mode;
use crate::base::ticks;
use crate::counters::counter_reader::Reading;
use crate::counters::per_call;
use crate::handles::call_cache::KnownOperation;
use crate::record::buffer::chunk::RecordPlace;
use crate::record::buffer::drawn::DrawnChunk;
use crate::record::buffer::histograms::Unkept;
use crate::record::thread::{self, Record, ThreadRef};

/// Begins a repetition of a region, which the caller has counted, with its record where it is kept; `None` where
/// nothing is.
pub fn begin_region(found: &KnownOperation, repetition: u64) -> Option<Region> {
    let mode = mode::get();
    if mode == mode::OFF {
        return None;
    }
    let thread = thread::current_or_new()?;
    let flags = match room(thread, found, mode, repetition) {
        Ok(flags) => flags,
        Err(unkept) => return Some(Region { unkept, kept: None }),
    };
    let record = thread.next_record();
    let place = thread.place(record);
    // Its position follows from the repetition (`OperationEntry::positions_from`).
    place.describe(0, repetition, found.number | flags);
    let reading = per_call::begin_region(thread, &place);
    let number = thread.chunk()?;
    compiler_fence(Ordering::Release);
    let enter = ticks::now();
    place.begin(enter);
    thread.go_behind(record);
    let kept = Kept { place, record, reading, number, chunk: thread.drawn() };
    let unkept = Unkept { buffer: thread.buffer(), operation: found.operation, enter, exit: enter };
    Some(Region { unkept, kept: Some(kept) })
}

/// The flags of the record of a start or a region that has this position; else what it is counted by.
pub fn room(thread: ThreadRef, found: &KnownOperation, mode: u8, position: u64) -> Result<u32, Unkept> {
    let is_paused = mode == mode::PAUSED;
    let is_kept = !is_paused && thread.is_to_stay(found.communicator, position);
    let room = if is_kept { thread.make_room() } else { None };
    room.ok_or_else(|| {
        let entry = thread.entry();
        entry.set_paused(entry.paused() + u64::from(is_paused));
        // Paused, its time is in no histogram, as that of other calls.
        let (buffer, enter) = (thread.buffer().filter(|_| !is_paused), ticks::now());
        Unkept { buffer, operation: found.operation, enter, exit: enter }
    })
}

/// A repetition of a region in progress. It ends on the thread that has begun it.
pub struct Region {
    unkept: Unkept,
    kept: Option<Kept>,
}

struct Kept {
    place: RecordPlace,
    record: Record,
    /// The counters at the beginning; `None`: there were none yet.
    reading: Option<Reading>,
    /// The chunk's number.
    number: u32,
    chunk: DrawnChunk,
}

impl Region {
    pub fn disturb(&self) {
        if let Some(kept) = &self.kept {
            kept.chunk.while_current(|| kept.place.disturb());
        }
    }

    /// It has ended at this tick.
    pub fn end(self, exit: u64) {
        let is_kept = self.kept.is_some_and(|Kept { place, record, reading, number, chunk }| {
            let thread = thread::current().filter(|_| chunk.is_current());
            if let Some(thread) = thread {
                per_call::end_region(thread, reading, number, record, &place);
            }
            // No other thread takes the chunk that this one fills.
            if thread.is_some_and(|thread| thread.chunk() == Some(number)) {
                chunk.store_exit_of_own(&place, exit);
                return true;
            }
            chunk.store_exit(&place, exit)
        });
        if !is_kept {
            Unkept { exit, ..self.unkept }.count(false);
        }
    }
}
