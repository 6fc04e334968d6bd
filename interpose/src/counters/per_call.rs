//! Counters per call: which ones the run has, where their columns lie, and when they are read.
//!
//! A counter has a fixed-size array of its own beside the time stamps, one value per call. Without counters a call pays
//! one branch for them before it and one after it.

use mpitrace_format::layout::{CounterEntry, NO_VALUE, chunk_flags, counter_source};

use crate::counters::counter_reader::{CounterReader, Reading};
use crate::counters::source::{At, Counter};
use crate::counters::sources::{self, Planned, Wanted};
use crate::identity::registry;
use crate::record::chunk::Place;
use crate::record::thread::{self, Record, ThreadRef, attention};
use crate::record::trace_buffer::TraceBuffer;

/// The counters that a list of names stands for, and for each name that stands for none the counter that is left out.
pub fn choose(names: &[String]) -> (Wanted, Vec<Counter>) {
    let mut wanted = Wanted::default();
    let wrong = |name: &String| {
        let reason = wanted.add(name).err()?;
        Some(Counter { name: name.clone(), source: counter_source::SOFTWARE, reason, ..Counter::default() })
    };
    let wrong = names.iter().filter_map(wrong).collect();
    (wanted, wrong)
}

/// Enters the counters in the table, with those whose names stand for none, and starts them. To be called once, before
/// the first call is recorded.
pub fn start(buffer: &'static TraceBuffer, planned: &Planned, wrong: &[Counter]) {
    let enter = |counter: &Counter, column: usize| {
        let mut registry = registry::lock()?;
        let (name, unit) = (registry.string(&counter.name), registry.string(counter.unit));
        let reason = if counter.reason.is_empty() { 0 } else { registry.string(&counter.reason) };
        let (source, flags, column) = (counter.source, counter.flags, column as u32);
        buffer.add_counter(CounterEntry { name, unit, source, column, reason, flags, ..CounterEntry::default() })
    };
    let (at_start, around) = planned.start(enter);
    for counter in wrong {
        enter(counter, 0);
    }
    if at_start {
        thread::attend_to(attention::COUNTERS);
    }
    if around {
        thread::attend_to(attention::SAMPLED);
    }
}

/// Stores the counters that are known when a call is about to begin.
#[cold]
#[inline(never)]
pub fn before(place: &Place) {
    sources::take(|column, value| place.set_counter(column, value));
}

/// Reads what is read around the call that is about to begin, the last thing before its time stamp.
pub fn begin(thread: ThreadRef, record: Record, communicator: usize) {
    if thread.attention() & attention::INNER != 0 {
        thread.extend_at(record, chunk_flags::INNER);
    }
    if !thread.has_reader() {
        thread.place(record).disturb();
    }
    thread.with_reader(CounterReader::open, |reader| reader.begin(At { thread, communicator }));
}

/// Reads them again, the first thing after the call's second time stamp, and stores the values. Where nothing was read
/// before, the call is the first one within which code inside the stack has added something.
#[cold]
#[inline(never)]
pub fn end(thread: ThreadRef, record: Record, communicator: usize) {
    let inner = thread.attention() & attention::INNER != 0 && thread.extend_at(record, chunk_flags::INNER);
    let place = thread.place(record);
    thread.with_reader(CounterReader::open, |reader| reader.end(At { thread, communicator }, None, &place, inner));
}

/// Reads what is read around a region that is about to begin. What is known at the start of a call belongs to the
/// collectives within it.
pub fn begin_region(thread: ThreadRef, place: &Place) -> Option<Reading> {
    sources::columns_at_start().into_iter().for_each(|column| place.set_counter(column, NO_VALUE));
    if thread.attention() & attention::COUNTED == 0 {
        return None;
    }
    if !thread.has_reader() {
        place.disturb();
    }
    thread.with_reader(CounterReader::open, |reader| {
        let mut reading = reader.reading();
        reader.begin_into(At { thread, communicator: 0 }, &mut reading);
        Some(reading)
    })
}

/// Reads it again, and stores the values of the region in its record, which lies in the chunk of this number.
pub fn end_region(thread: ThreadRef, before: Option<Reading>, chunk: u32, record: Record, place: &Place) {
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
        reader.end(At { thread, communicator: 0 }, Some(&before), place, inner);
    });
}

/// A call is not kept: what its counters would have held is only in their totals.
#[cold]
#[inline(never)]
pub fn skipped() {
    sources::take(|_, _| {});
}

/// What has become known of the counters while they ran, at the end of the run: what there is to say.
pub fn finish() -> Vec<&'static str> {
    sources::finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::message_counters;
    use crate::counters::source::MOST;

    #[test]
    fn a_counter_named_twice_is_there_once_and_an_unknown_one_is_told() {
        let names = ["bytes-sent", "messages", "cycles", "bytes-sent", "cycles", "cycels"].map(str::to_owned);
        let (wanted, wrong) = choose(&names);
        assert_eq!(wanted.messages.len(), message_counters::NAMES.len());
        assert_eq!(wanted.messages[0], 1);
        assert_eq!(wanted.events.len(), 1);
        assert!(matches!(&wrong[..], [left_out] if left_out.name == "cycels" && left_out.reason.contains("cycels")));
    }

    #[test]
    fn what_can_be_counted_has_a_column_and_what_cannot_a_reason() {
        let (wanted, _) = choose(&["page-faults", "bytes-put"].map(str::to_owned));
        let planned = wanted.plan(MOST);
        assert_eq!(planned.columns() + planned.left_out(), 2);
    }
}
