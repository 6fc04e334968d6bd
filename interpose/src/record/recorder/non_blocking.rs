//! The records of non-blocking and persistent collectives, from their start until they are found complete.

use std::ffi::c_int;
use std::sync::atomic::{Ordering, compiler_fence};

use mpitrace_format::layout::OperationEntry;

use super::afterwards::{afterwards, attend};
use super::{NO_COMMUNICATOR, begin, uncaught};
use crate::counters::per_call;
use crate::identity::call_cache::{Call, Found};
use crate::record::chunk::{Drawn, Place};
use crate::record::entry::Entry;
use crate::record::thread::{self, Record, ThreadRef, attention};
use crate::record::{mode, ticks};

/// Forwards what starts a non-blocking collective, and begins its record: the result, and what is left to be recorded
/// when the request is found complete.
#[inline(always)]
pub fn starting(message: impl Fn(ThreadRef) -> Call, forward: impl FnOnce() -> c_int) -> (c_int, Option<Started>) {
    let recorded = |thread: ThreadRef, call: &Call, found: Found, record: Record, forward: _| {
        let place = thread.place_of_request(record);
        let enter = thread.enter(record, ticks::now);
        let result = uncaught(thread, found, forward);
        let returned = ticks::now();
        thread.look(record, returned);
        thread.set_guard(0);
        thread.go_behind(record);
        place.set_init(returned.wrapping_sub(enter));
        if thread.attention() & attention::AFTER != 0 {
            per_call::end(thread, record, call.key.communicator);
        }
        if result != 0 || found.open {
            afterwards(thread, &found, call, &message, result);
        }
        let started = Started { place, returned, chunk: thread.drawn() };
        (result, (result == 0).then_some(started))
    };
    begin(thread::frame(), false, &message, forward, |result| (result, None), recorded)
}

/// Counts a start of a persistent collective and begins its record; `None` where it is not kept. The call that starts
/// it comes next, then [`Begun::started`] or [`Begun::take_back`]. MPI lets no two threads start the same request.
pub fn prepared(found: &Found, position: u64) -> Option<Begun> {
    let mode = mode::get();
    if mode == mode::OFF {
        return None;
    }
    let thread = thread::current_or_new();
    let repetition = found.operation.count_start();
    let room = if mode == mode::PAUSED { None } else { thread.make_room() };
    let Some(flags) = room else {
        let entry = thread.entry();
        entry.set_paused(entry.paused() + u64::from(mode == mode::PAUSED));
        if thread.attention() & attention::COUNTERS != 0 {
            per_call::skipped();
        }
        return None;
    };
    let record = thread.next_record();
    thread.describe(record, position, repetition, found.number | flags);
    let place = thread.place_of_request(record);
    place.set_above(position);
    if thread.attention() != 0 {
        attend(thread, record, NO_COMMUNICATOR);
    }
    compiler_fence(Ordering::Release);
    thread.enter(record, ticks::now);
    thread.go_behind(record);
    Some(Begun { thread, operation: found.operation, repetition, record, place, chunk: thread.drawn() })
}

/// The record of a persistent collective that is being started, on the thread that has begun it.
pub struct Begun {
    thread: ThreadRef,
    operation: Entry<OperationEntry>,
    repetition: u64,
    record: Record,
    place: Place,
    chunk: Drawn,
}

impl Begun {
    /// The starting call has returned well, at this tick.
    pub fn started(self, returned: u64) -> Started {
        let Begun { thread, record, place, chunk, .. } = self;
        place.set_init(returned.wrapping_sub(place.enter()));
        // Unless another chunk was drawn since.
        if thread.attention() & attention::AFTER != 0 && chunk.is_same(&thread.drawn()) {
            per_call::end(thread, record, NO_COMMUNICATOR);
        }
        Started { place, returned, chunk }
    }

    /// The starting call has failed. To be called for the last one begun first.
    pub fn take_back(self) {
        let entry = self.thread.entry();
        entry.set_failed(entry.failed() + 1);
        if !self.operation.take_back_start(self.repetition) {
            entry.set_failed_in_place(entry.failed_in_place() + 1);
        }
        // It is the thread's last one, unless a chunk was drawn in between.
        if self.chunk.is_current() && self.thread.is_last(self.record) {
            self.place.withdraw();
            self.thread.go_back_to(self.record);
        }
    }
}

/// A non-blocking collective under way.
pub struct Started {
    place: Place,
    /// When the starting call returned, ticks.
    pub returned: u64,
    /// Tells whether the chunk is still the one in which the record was begun.
    chunk: Drawn,
}

impl Started {
    /// Adds time that the program spent in a Wait for it, ticks.
    pub fn add_wait(&self, ticks: u64) {
        self.chunk.while_current(|| self.place.add_wait(ticks));
    }

    /// Adds a Test for it and the time that it took, ticks.
    pub fn add_test(&self, ticks: u64) {
        self.chunk.while_current(|| self.place.add_test(ticks));
    }

    /// It was found complete at this tick; the first time counts.
    pub fn complete(&self, tick: u64) {
        let mut long_call = None;
        self.chunk.while_current(|| {
            if !self.place.has_exit() {
                long_call = self.place.set_exit(self.place.enter(), tick);
            }
        });
        self.chunk.keep(long_call);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU64;

    use bytemuck::Zeroable;
    use mpitrace_format::layout::{
        ColumnEntry, INNER_COUNTERS, LIVE_COLUMNS, LIVE_REQUEST_COLUMNS, RankHeader, name_bytes,
    };

    use super::*;
    use crate::record::chunk::Columns;
    use crate::record::trace_buffer::TraceBuffer;

    /// A buffer of two chunks of 16 records, of which the last ones are kept.
    fn ring() -> &'static TraceBuffer {
        let column =
            |name: &str, element_size| ColumnEntry { name: name_bytes(name), element_size, ..Zeroable::zeroed() };
        let mut columns: Vec<ColumnEntry> =
            LIVE_COLUMNS.iter().chain(&LIVE_REQUEST_COLUMNS).map(|&(name, size)| column(name, size)).collect();
        columns.extend((0..INNER_COUNTERS).map(|_| column("inner", 8)));
        let rank = RankHeader { ring: 1, capacity: 16, ..RankHeader::zeroed() };
        TraceBuffer::create(&[], "", rank, &columns).unwrap()
    }

    /// One thread finds a call complete while another one draws the call's chunk again: the chunk is empty then, or the
    /// call is stored in it, before it was emptied.
    #[test]
    fn nothing_is_stored_in_a_chunk_that_is_drawn_again() {
        const TURNS: u64 = 2000;
        let buffer = ring();
        let meet = Barrier::new(2);
        let started: std::sync::Mutex<Option<Started>> = std::sync::Mutex::new(None);
        let late = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..TURNS {
                    meet.wait();
                    let call = started.lock().unwrap().take().unwrap();
                    while call.chunk.is_current() {
                        call.complete(777);
                    }
                    meet.wait();
                }
            });
            let mut filled = None;
            for _ in 0..TURNS {
                let chunk = buffer.draw(0, filled).unwrap();
                let columns: Columns = chunk.columns;
                // SAFETY: the chunk has 16 records, and this thread has drawn it.
                let place = unsafe { Place::new(columns, 3) };
                let call = Started { place, returned: 0, chunk: Drawn::now(buffer, chunk.number) };
                *started.lock().unwrap() = Some(call);
                meet.wait();
                let other = buffer.draw(0, Some(chunk.number)).unwrap();
                let again = buffer.draw(0, Some(other.number)).unwrap();
                meet.wait();
                assert_eq!(again.number, chunk.number);
                late.fetch_add(u64::from(place.has_exit()), Ordering::Relaxed);
                filled = Some(again.number);
            }
        });
        assert_eq!(late.into_inner(), 0, "of {TURNS} calls were stored among the records of another draw");
    }
}
