//! The records of regions: repetitions that a program begins and ends by hand.

use std::sync::atomic::{Ordering, compiler_fence};

use crate::counters::counter_reader::Reading;
use crate::counters::per_call;
use crate::identity::call_cache::Found;
use crate::record::chunk::{Drawn, Place};
use crate::record::thread::{self, Record};
use crate::record::{mode, ticks};

/// Begins the record of a repetition of a region, which the caller has counted; `None` where it is not kept.
pub fn begin_region(found: &Found, repetition: u64) -> Option<Region> {
    let mode = mode::get();
    if mode == mode::OFF {
        return None;
    }
    let thread = thread::current_or_new();
    let room = if mode == mode::PAUSED { None } else { thread.make_room() };
    let Some(flags) = room else {
        let entry = thread.entry();
        entry.set_paused(entry.paused() + u64::from(mode == mode::PAUSED));
        return None;
    };
    let record = thread.next_record();
    let place = thread.place(record);
    // Its position follows from the repetition (`OperationEntry::positions_from`).
    place.describe(0, repetition, found.number | flags);
    let reading = per_call::begin_region(thread, &place);
    let number = thread.chunk()?;
    compiler_fence(Ordering::Release);
    place.set_enter(ticks::now());
    thread.go_behind(record);
    Some(Region { place, record, reading, number, chunk: thread.drawn() })
}

/// A repetition of a region in progress. It ends on the thread that has begun it.
pub struct Region {
    place: Place,
    record: Record,
    /// What the counters stood at; `None`: there were none yet.
    reading: Option<Reading>,
    /// The chunk's number.
    number: u32,
    chunk: Drawn,
}

impl Region {
    /// Ends it.
    pub fn end(self) {
        let exit = ticks::now();
        if !self.chunk.is_current() {
            return;
        }
        let thread = thread::current_or_new();
        per_call::end_region(thread, self.reading, self.number, self.record, &self.place);
        let mut long_call = None;
        self.chunk.while_current(|| long_call = self.place.set_exit(self.place.enter(), exit));
        self.chunk.keep(long_call);
    }
}
