//! Counters per call: when they are read, and into which record they go.
//!
//! A counter has a fixed-size array of its own beside the time stamps, one value per call. Without counters a call pays
//! one branch for them before it and one after it.

use mpitrace_format::layout::{NO_VALUE, chunk_flags};

use crate::counters::counter_reader::{CounterReader, Reading};
use crate::counters::message_counters;
use crate::record::buffer::chunk::RecordPlace;
use crate::record::thread::{Record, ThreadRef, attention};

/// Stores the counters that are known when a call is about to begin.
#[cold]
#[inline(never)]
pub fn before(place: &RecordPlace) {
    message_counters::take(|column, value| place.set_counter(column, value));
}

/// Reads what is read around the call that is about to begin, the last thing before its time stamp.
pub fn begin(thread: ThreadRef, record: Record) {
    let inner = thread.attention() & attention::INNER != 0;
    if inner {
        thread.extend_at(record, chunk_flags::INNER);
    }
    if !thread.has_reader() {
        thread.place(record).disturb();
    }
    thread.with_reader(CounterReader::open, |reader| reader.begin(thread, inner));
}

/// Reads them again, the first thing after the call's second time stamp, and stores the values. Where nothing was read
/// before, the call is the first one within which code inside the stack has added something.
#[cold]
#[inline(never)]
pub fn end(thread: ThreadRef, record: Record) {
    let inner = thread.attention() & attention::INNER != 0 && thread.extend_at(record, chunk_flags::INNER);
    let place = thread.place(record);
    thread.with_reader(CounterReader::open, |reader| reader.end(thread, None, &place, inner));
}

/// Reads what is read around a region that is about to begin. What is known at the start of a call belongs to the
/// collectives within it.
pub fn begin_region(thread: ThreadRef, place: &RecordPlace) -> Option<Reading> {
    (0..message_counters::planned().len()).for_each(|column| place.set_counter(column, NO_VALUE));
    if thread.attention() & attention::COUNTED == 0 {
        return None;
    }
    if !thread.has_reader() {
        place.disturb();
    }
    thread.with_reader(CounterReader::open, |reader| {
        let mut reading = reader.reading();
        let inner = thread.attention() & attention::INNER != 0;
        reader.begin_into(thread, inner, &mut reading);
        Some(reading)
    })
}

/// Reads it again, and stores the values of the region in its record, which lies in the chunk of this number.
pub fn end_region(thread: ThreadRef, before: Option<Reading>, chunk: u32, record: Record, place: &RecordPlace) {
    if thread.attention() & attention::COUNTED == 0 {
        return;
    }
    let inner = thread.attention() & attention::INNER != 0
        && match thread.buffer() {
            _ if thread.chunk() == Some(chunk) => thread.extend_at(record, chunk_flags::INNER),
            Some(buffer) => {
                buffer.chunk(chunk).flags() & chunk_flags::INNER != 0
                    || buffer.extend_chunk(chunk, chunk_flags::INNER).is_some()
            }
            None => false,
        };
    thread.with_reader(CounterReader::open, |reader| {
        // Where nothing was read before, nothing had been added.
        let before = before.unwrap_or_else(|| reader.reading());
        reader.end(thread, Some(&before), place, inner);
    });
}

/// A call is not kept: what its counters would have held is only in their totals.
#[cold]
#[inline(never)]
pub fn skipped() {
    message_counters::take(|_, _| {});
}
