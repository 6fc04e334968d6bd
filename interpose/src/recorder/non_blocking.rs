//! The records of non-blocking and persistent collectives, from their start until they are found complete.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{Ordering, compiler_fence};

use crate::base::mode;
use crate::base::ticks;
use crate::counters::per_call;
use crate::handles::call::Call;
use crate::handles::call_cache::KnownOperation;
use crate::record::buffer::chunk::RecordPlace;
use crate::record::buffer::drawn::DrawnChunk;
use crate::record::buffer::histograms::Unkept;
use crate::record::thread::{self, Record, ThreadRef, attention};
use crate::recorder::afterwards::{after, afterwards, attend};
use crate::recorder::region::room;
use crate::recorder::{begin, uncaught};

/// Forwards what starts a non-blocking collective, and begins its record: the result, and what is left to be recorded
/// when the request is found complete.
pub fn starting(
    here: usize,
    message: &dyn Fn(ThreadRef) -> Call,
    forward: &dyn Fn() -> c_int,
) -> (c_int, Option<Started>) {
    let recorded = |thread: ThreadRef, call: &Call, found: KnownOperation, record: Record, forward: _| {
        let place = thread.place_of_request(record);
        let enter = thread.enter(record, ticks::now);
        let result = uncaught(thread, found, forward);
        let returned = ticks::now();
        thread.look(record, returned);
        thread.set_guard(0);
        thread.go_behind(record);
        place.set_init(returned.wrapping_sub(enter));
        let mut outcome = result;
        // What starting has entered is not what completes the collective.
        let _ = thread.take_algorithm();
        if thread.attention() & attention::AFTER != 0 {
            outcome = after(thread, record, result);
        }
        if outcome != 0 || found.open {
            afterwards(thread, &found, call, message, outcome);
        }
        let kept = Kept { place, chunk: thread.drawn() };
        let operation = thread.buffer().map_or(found.operation, |buffer| buffer.operation(place.operation()));
        let unkept = Unkept { buffer: thread.buffer(), operation, enter, exit: returned };
        (result, (outcome == 0).then(|| Started::new(unkept, Some(kept))))
    };
    let unrecorded = |result, unkept: Option<Unkept>| (result, unkept.map(|call| Started::new(call, None)));
    begin(here, false, message, forward, unrecorded, recorded)
}

/// Counts a start of a persistent collective and begins its record, where it is kept; `None` where nothing is. The call
/// that starts it comes next, then [`Begun::started`] or [`Begun::take_back`]. MPI lets no two threads start the same
/// request.
pub fn prepared(found: &KnownOperation, position: u64) -> Option<Begun> {
    let mode = mode::get();
    if mode == mode::OFF {
        return None;
    }
    let thread = thread::current_or_new()?;
    let repetition = found.operation.count_start();
    let flags = match room(thread, found, mode, position) {
        Ok(flags) => flags,
        Err(mut unkept) => {
            if thread.attention() & attention::COUNTERS != 0 {
                per_call::skipped();
                // The reading is no part of the call.
                unkept.enter = ticks::now();
            }
            return Some(Begun { thread, repetition, unkept, kept: None });
        }
    };
    let record = thread.next_record();
    thread.describe(record, position, repetition, found.number | flags);
    let place = thread.place_of_request(record);
    place.set_above(position);
    if thread.attention() != 0 {
        attend(thread, record);
    }
    compiler_fence(Ordering::Release);
    let enter = thread.enter(record, ticks::now);
    thread.go_behind(record);
    let kept = Some((record, Kept { place, chunk: thread.drawn() }));
    let unkept = Unkept { buffer: thread.buffer(), operation: found.operation, enter, exit: enter };
    Some(Begun { thread, repetition, unkept, kept })
}

/// The record of a persistent collective that is being started, on the thread that has begun it.
pub struct Begun {
    thread: ThreadRef,
    repetition: u64,
    unkept: Unkept,
    /// `None`: the call is counted and not kept.
    kept: Option<(Record, Kept)>,
}

impl Begun {
    /// The starting call has returned well, at this tick.
    pub fn started(self, returned: u64) -> Started {
        let Begun { thread, unkept, kept, .. } = self;
        if let Some((record, Kept { place, chunk })) = &kept {
            place.set_init(returned.wrapping_sub(place.enter()));
            // Unless another chunk was drawn since.
            if thread.attention() & attention::COUNTED != 0 && chunk.is_same(&thread.drawn()) {
                per_call::end(thread, *record);
            }
        }
        Started::new(Unkept { exit: returned, ..unkept }, kept.map(|(_, kept)| kept))
    }

    /// The starting call has failed. To be called for the last one begun first.
    pub fn take_back(self) {
        let entry = self.thread.entry();
        entry.set_failed(entry.failed() + 1);
        if !self.unkept.operation.take_back_start(self.repetition) {
            entry.set_failed_in_place(entry.failed_in_place() + 1);
        }
        // It is the thread's last one, unless a chunk was drawn in between.
        if let Some((record, Kept { place, chunk })) = self.kept
            && chunk.is_current()
            && self.thread.is_last(record)
        {
            place.withdraw();
            self.thread.go_back_to(record);
        }
    }
}

pub struct Started {
    kept: Option<Kept>,
    /// The starting call; as it is counted where it is not kept.
    unkept: Unkept,
    complete: Cell<bool>,
}

struct Kept {
    place: RecordPlace,
    /// Tells whether the chunk is still the one in which the record was begun.
    chunk: DrawnChunk,
}

impl Started {
    fn new(unkept: Unkept, kept: Option<Kept>) -> Started {
        Started { kept, unkept, complete: Cell::new(false) }
    }

    /// It was complete when the starting call returned.
    pub fn complete_at_start(&self) {
        self.complete(self.unkept.exit);
    }

    /// Where its record lies.
    pub fn record(&self) -> Option<(RecordPlace, DrawnChunk)> {
        self.kept.as_ref().map(|Kept { place, chunk }| (*place, *chunk))
    }

    /// Stores something in its record, where that is still in its chunk.
    fn in_record(&self, store: impl FnOnce(&RecordPlace)) {
        if let Some(Kept { place, chunk }) = &self.kept {
            chunk.while_current(|| store(place));
        }
    }

    /// The program is in a Wait that does not return before it is complete.
    pub fn begin_wait(&self) {
        self.in_record(RecordPlace::begin_wait);
    }

    pub fn add_wait(&self, ticks: u64) {
        self.in_record(|place| place.add_wait(ticks));
    }

    /// Adds a Test for it and the time that it took, ticks.
    pub fn add_test(&self, ticks: u64) {
        self.in_record(|place| place.add_tests(ticks, 1));
    }

    /// It was found complete at this tick; the first time counts. Where its record is gone it is counted as one that is
    /// not kept.
    pub fn complete(&self, tick: u64) {
        if self.complete.replace(true) {
            return;
        }
        let is_kept = self.kept.as_ref().is_some_and(|Kept { place, chunk }| chunk.store_exit(place, tick));
        if !is_kept {
            Unkept { exit: tick, ..self.unkept }.count(false);
        }
    }
}
