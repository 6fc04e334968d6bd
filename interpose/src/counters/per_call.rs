//! Counters per call: which ones the run has, where their columns lie, and when they are read.
//!
//! A counter has a fixed-size array of its own beside the time stamps, one value per call. Without counters a call pays one
//! branch for them before it and one after it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use mpitrace_format::layout::{
    COLUMNS, CounterEntry, DISTURBED, INNER_COUNTERS, MAX_COLUMNS, NO_VALUE, REQUEST_COLUMNS, TRUE_COLUMNS,
    chunk_flags, counter_flags, counter_source,
};

use crate::counters::counter_reader::{self, Plan, Reading, Sampler};
use crate::counters::message_counters;
use crate::counters::mpi_t;
use crate::counters::perf::{self, Event};
use crate::identity::registry;
use crate::record::chunk::Columns;
use crate::record::thread::{self, Thread, attention};
use crate::record::trace_buffer::TraceBuffer;

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Numbers among those of [`crate::counters::message_counters`].
    pub messages: Vec<usize>,
    /// Events of perf_event.
    pub events: Vec<Event>,
}

/// What the run has.
pub struct Planned {
    messages: Vec<usize>,
    events: Vec<Event>,
    notes: Vec<(Event, perf::Note)>,
}

/// A counter of messages that is read, with what is said of it in the segment.
struct Running {
    index: usize,
    entry: *mut CounterEntry,
}

// SAFETY: the entry lies in the segment, which stays mapped; its total is added to atomically.
unsafe impl Sync for Running {}
// SAFETY: as above.
unsafe impl Send for Running {}

static RUNNING: OnceLock<Vec<Running>> = OnceLock::new();

/// The entries of hardware events, for what becomes known of them at the end.
struct Hardware(Vec<*mut CounterEntry>);

// SAFETY: the entries lie in the segment, which stays mapped; one thread writes to them, at the end.
unsafe impl Sync for Hardware {}
// SAFETY: as above.
unsafe impl Send for Hardware {}

static HARDWARE: OnceLock<Hardware> = OnceLock::new();

/// Columns for counters of messages, events and performance variables together: beside those of all records, of requests, of inner
/// counters, and the true ticks under a pretended clock.
const MOST: usize = MAX_COLUMNS - COLUMNS.len() - REQUEST_COLUMNS.len() - INNER_COUNTERS - TRUE_COLUMNS.len();

/// The name that stands for all counters of messages.
const ALL_MESSAGES: &str = "messages";

/// The counters that a list of names stands for, and a sentence for each name that stands for none.
pub fn choose(names: &[String]) -> (Wanted, Vec<String>) {
    let (mut wanted, mut wrong) = (Wanted::default(), Vec::new());
    for name in names {
        let mut named =
            message_counters::NAMES.iter().enumerate().filter(|(_, known)| *known == name || name == ALL_MESSAGES);
        if let Some((first, _)) = named.next() {
            for index in std::iter::once(first).chain(named.map(|(index, _)| index)) {
                if !wanted.messages.contains(&index) {
                    wanted.messages.push(index);
                }
            }
            continue;
        }
        match perf::parse(name) {
            Ok(event) if wanted.events.contains(&event) => {}
            Ok(event) => wanted.events.push(event),
            Err(what) => wrong.push(what),
        }
    }
    (wanted, wrong)
}

/// What of it can be had here: by opening the events once, on the calling thread.
pub fn plan(wanted: &Wanted) -> Planned {
    let (mut events, mut notes) = (wanted.events.clone(), Vec::new());
    if !events.is_empty() {
        let (counters, said) = perf::Counters::open(&events);
        let counted: Vec<usize> = counters.counted().collect();
        notes = said.into_iter().map(|note| (wanted.events[note.event].clone(), note)).collect();
        events = counted.into_iter().map(|index| wanted.events[index].clone()).collect();
    }
    let room = MOST.saturating_sub(wanted.messages.len()).min(events.len());
    for event in events.split_off(room) {
        let text = format!("{} is left out: a trace has {MOST} columns for counters", event.name);
        notes.push((event, perf::Note { event: 0, left_out: true, text }));
    }
    Planned { messages: wanted.messages.clone(), events, notes }
}

impl Planned {
    /// How many columns they take.
    pub fn columns(&self) -> usize {
        self.messages.len() + self.events.len() + mpi_t::count()
    }

    /// What is to be said, a sentence each.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(|(_, note)| note.text.as_str())
    }
}

/// Enters the counters in the segment's table and starts them. To be called once, before the first call is recorded.
pub fn start(live: &'static TraceBuffer, planned: Planned) {
    let add = |name: &str, unit: &str, source: u32, column: usize, flags: u32, reason: &str| {
        let mut registry = registry::lock()?;
        let (name, unit) = (registry.string(name), registry.string(unit));
        let reason = if reason.is_empty() { 0 } else { registry.string(reason) };
        let column = column as u32;
        live.add_counter(CounterEntry { name, unit, source, column, reason, flags, ..CounterEntry::default() })
    };
    let mut running = Vec::new();
    for (column, &index) in (1..).zip(&planned.messages) {
        let name = message_counters::NAMES[index];
        let unit = if name.starts_with("bytes") { "bytes" } else { "messages" };
        let entry = add(name, unit, counter_source::MESSAGES, column, 0, "");
        running.extend(entry.map(|entry| Running { index, entry }));
    }
    let source = |event: &Event| match event.is_hardware() {
        true => counter_source::HARDWARE,
        false => counter_source::SOFTWARE,
    };
    let first = planned.messages.len();
    let mut hardware = Vec::new();
    for (column, event) in (first + 1..).zip(&planned.events) {
        // One that is counted in part has a reason too.
        let said = planned.notes.iter().find(|(of, _)| of == event).map_or("", |(_, note)| &note.text);
        let entry = add(&event.name, event.unit, source(event), column, 0, said);
        hardware.extend(entry.filter(|_| event.is_hardware()));
    }
    for (event, note) in planned.notes.iter().filter(|(_, note)| note.left_out) {
        add(&event.name, event.unit, source(event), 0, 0, &note.text);
    }
    for (column, variable) in (first + planned.events.len() + 1..).zip(mpi_t::all()) {
        let flags = if variable.level { counter_flags::LEVEL } else { 0 };
        add(&variable.name, variable.unit, counter_source::VARIABLE, column, flags, &variable.note);
    }
    for (name, reason) in mpi_t::left_out() {
        add(name, "", counter_source::VARIABLE, 0, 0, &reason);
    }
    if !running.is_empty() {
        let _ = RUNNING.set(running);
        message_counters::start();
        thread::attend_to(attention::COUNTERS);
    }
    let _ = HARDWARE.set(Hardware(hardware));
    if !planned.events.is_empty() || mpi_t::count() > 0 {
        counter_reader::start(Plan { events: planned.events, column: first });
        thread::attend_to(attention::SAMPLED);
    }
}

/// Stores the counters of messages of a call that is about to begin.
///
/// # Safety
/// The columns are those of the calling thread's chunk, and the record lies in it.
#[cold]
#[inline(never)]
pub unsafe fn before(columns: &Columns, record: usize) {
    for (column, counter) in RUNNING.get().into_iter().flatten().enumerate() {
        let value = counter.take();
        // SAFETY: the caller's promise; the chunk has a column for each counter.
        unsafe { columns.counters.add(column * columns.stride + record).write(value) };
    }
}

/// Reads what is read around the call that is about to begin, the last thing before its time stamp.
///
/// # Safety
/// `thread` is the calling thread's own, and the record lies in its chunk.
pub unsafe fn begin(thread: *mut Thread, record: usize, communicator: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).attention & attention::INNER != 0 {
            (*thread).extend_at(record, chunk_flags::INNER);
        }
        if (*thread).sampler.is_none() {
            open(thread);
            *(*thread).columns.operation.add(record) |= DISTURBED;
        }
        if let Some(sampler) = &mut (*thread).sampler {
            sampler.begin(&(*thread).sums, communicator);
        }
    }
}

/// Reads them again, the first thing after the call's second time stamp, and stores the values.
///
/// # Safety
/// As of [`begin`].
#[cold]
#[inline(never)]
pub unsafe fn end(thread: *mut Thread, record: usize, communicator: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).sampler.is_none() {
            // The call is the first one within which code inside the stack has added something.
            open(thread);
        }
        let inner = (*thread).attention & attention::INNER != 0 && (*thread).extend_at(record, chunk_flags::INNER);
        if let Some(sampler) = &mut (*thread).sampler {
            sampler.end(&(*thread).sums, communicator, &(*thread).columns, record, inner);
        }
    }
}

/// Reads what is read around a region that is about to begin. Messages belong to the collectives within it.
///
/// # Safety
/// As of [`begin`].
pub unsafe fn begin_region(thread: *mut Thread, record: usize) -> Option<Reading> {
    // SAFETY: the caller's promise; the chunk has a column for each counter.
    unsafe {
        let columns = (*thread).columns;
        for column in 0..RUNNING.get().map_or(0, Vec::len) {
            columns.counters.add(column * columns.stride + record).write(NO_VALUE);
        }
        if (*thread).attention & attention::AFTER == 0 {
            return None;
        }
        if (*thread).sampler.is_none() {
            open(thread);
            *columns.operation.add(record) |= DISTURBED;
        }
        let sampler = (*thread).sampler.as_ref()?;
        let mut reading = sampler.reading();
        sampler.begin_into(&mut reading, &(*thread).sums, 0);
        Some(reading)
    }
}

/// Reads it again, and stores the values of the region in its record, which lies in the columns of the chunk of this number.
///
/// # Safety
/// `thread` is the calling thread's own, and has drawn the chunk.
pub unsafe fn end_region(thread: *mut Thread, before: Option<Reading>, chunk: u32, columns: &Columns, record: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).attention & attention::AFTER == 0 {
            return;
        }
        if (*thread).sampler.is_none() {
            open(thread);
        }
        let inner = (*thread).attention & attention::INNER != 0
            && match (*thread).live {
                _ if (*thread).chunk == Some(chunk) => (*thread).extend_at(record, chunk_flags::INNER),
                Some(live) => {
                    (*live.chunk(chunk)).flags & chunk_flags::INNER != 0 || live.extend_chunk(chunk, chunk_flags::INNER)
                }
                None => false,
            };
        if let Some(sampler) = &mut (*thread).sampler {
            // Where nothing was read before, nothing had been added.
            let before = before.unwrap_or_else(|| sampler.reading());
            sampler.end_of(&before, &(*thread).sums, 0, columns, record, inner);
        }
    }
}

/// Opens the counters of the calling thread.
///
/// # Safety
/// `thread` is the calling thread's own.
#[cold]
unsafe fn open(thread: *mut Thread) {
    // SAFETY: the caller's promise. What there is to say was said when the run began.
    unsafe { (*thread).sampler = Some(Sampler::open()) };
}

/// A call is not kept: what its counters would have held is only in their totals.
#[cold]
#[inline(never)]
pub fn skipped() {
    for counter in RUNNING.get().into_iter().flatten() {
        counter.take();
    }
}

/// What has become known of hardware events while they ran, at the end of the run: what there is to say.
pub fn finish() -> Option<&'static str> {
    let (scaled, silent) = counter_reader::quality();
    let flags = if scaled { counter_flags::SCALED } else { 0 };
    for &entry in &HARDWARE.get()?.0 {
        // SAFETY: the entry lies in the segment; nobody else writes to it.
        unsafe { (*entry).flags |= flags };
    }
    silent
        .then_some("the hardware events did not run during some calls, which have no value then: ask for fewer at once")
}

impl Running {
    /// What has come together since the last call.
    fn take(&self) -> u64 {
        let value = message_counters::take(self.index);
        if value == 0 {
            return 0;
        }
        // SAFETY: the entry lies in the segment, aligned; nobody reads it in another way while the program runs.
        let total = unsafe { AtomicU64::from_ptr(&raw mut (*self.entry).total) };
        total.fetch_add(value, Ordering::Relaxed);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_named_twice_is_there_once_and_an_unknown_one_is_told() {
        let names = ["bytes-sent", "messages", "cycles", "bytes-sent", "cycles", "cycels"].map(str::to_owned);
        let (wanted, wrong) = choose(&names);
        assert_eq!(wanted.messages.len(), message_counters::NAMES.len());
        assert_eq!(wanted.messages[0], 1);
        assert_eq!(wanted.events.len(), 1);
        assert!(matches!(&wrong[..], [what] if what.contains("cycels")), "{wrong:?}");
    }

    #[test]
    fn what_can_be_counted_has_a_column_and_what_cannot_a_reason() {
        let (wanted, _) = choose(&["page-faults", "bytes-put"].map(str::to_owned));
        let planned = plan(&wanted);
        let left_out = planned.notes.iter().filter(|(_, note)| note.left_out).count();
        assert_eq!(planned.columns() + left_out, 2);
    }
}
