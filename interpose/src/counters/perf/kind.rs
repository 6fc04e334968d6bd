//! Events of perf_event as a kind of counters.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use mpitrace_format::layout::{CounterEntry, NO_VALUE, counter_flags, counter_source};
use mpitrace_platform::event_names::parse;
use mpitrace_platform::perf_event::Event;

use super::Counters;
use super::group::Quality;
use super::opening::Note;
use crate::base::entry::Entry;
use crate::base::lock::lock;
use crate::counters::source::{Counter, CounterKind, Plan, Source, Started, Wanted, no_column};
use crate::record::thread::{self, ThreadRef, attention};

static PLANNED: OnceLock<Vec<Event>> = OnceLock::new();
/// The entries of those of the processor, for what becomes known of them at the end.
static OF_PROCESSOR: Mutex<Vec<Entry<CounterEntry>>> = Mutex::new(Vec::new());

/// Since the run began values were scaled up; events did not run in some call.
static SCALED: AtomicBool = AtomicBool::new(false);
static SILENT: AtomicBool = AtomicBool::new(false);

pub struct Events;

impl CounterKind for Events {
    /// By opening the events once, on the calling thread.
    fn plan(&self, wanted: &mut Wanted, room: usize) -> Plan {
        let mut plan = Plan::default();
        let mut events: Vec<Event> = Vec::new();
        for name in wanted.events.drain(..) {
            match parse(&name) {
                Ok(event) if events.contains(&event) => {}
                Ok(event) => events.push(event),
                Err(reason) => {
                    plan.notes.push(format!("MPITRACE_EVENTS: {reason}"));
                    let source = counter_source::SOFTWARE;
                    plan.left_out.push(Counter { name, source, reason, ..Counter::default() });
                }
            }
        }
        let (counters, mut said) = Counters::open(&events);
        let mut counted: Vec<usize> = counters.counted().collect();
        for event in counted.split_off(counted.len().min(room)) {
            said.push(Note { event, left_out: true, text: no_column(&events[event].name) });
        }
        let counter = |index: usize, reason: &str| Counter {
            name: events[index].name.clone(),
            unit: events[index].unit,
            source: if events[index].is_hardware() { counter_source::HARDWARE } else { counter_source::SOFTWARE },
            flags: 0,
            reason: reason.to_owned(),
        };
        for &index in &counted {
            // One that is counted in part has a reason too.
            let reason = said.iter().find(|note| note.event == index).map_or("", |note| note.text.as_str());
            plan.counters.push(counter(index, reason));
        }
        let left_out = said.iter().filter(|note| note.left_out);
        plan.left_out.extend(left_out.map(|note| counter(note.event, &note.text)));
        plan.notes.extend(said.into_iter().map(|note| note.text));
        let _ = PLANNED.set(counted.iter().map(|&index| events[index].clone()).collect());
        plan
    }

    fn start(&self, started: Started) {
        for (event, entry) in planned().iter().zip(started.entries) {
            thread::attend_to(attention::SAMPLED);
            if let Some(entry) = entry.filter(|_| event.is_hardware()) {
                lock(&OF_PROCESSOR).push(entry);
            }
        }
    }

    fn open(&self) -> Option<Box<dyn Source>> {
        // The notes were given to the user when the run began.
        (!planned().is_empty()).then(|| Box::new(Counters::open(planned()).0) as Box<dyn Source>)
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn finish(&self) -> Option<&'static str> {
        if SCALED.load(Ordering::Relaxed) {
            for entry in lock(&OF_PROCESSOR).iter() {
                entry.set_flags(entry.flags() | counter_flags::SCALED);
            }
        }
        SILENT.load(Ordering::Relaxed).then_some(
            "the hardware events did not run during some calls, which have no value then: ask for fewer at once",
        )
    }
}

fn planned() -> &'static [Event] {
    PLANNED.get().map_or(&[], Vec::as_slice)
}

impl Source for Counters {
    fn words(&self) -> usize {
        self.words()
    }

    fn before(&self, _: ThreadRef, reading: &mut [u64]) {
        self.read_before(reading);
    }

    fn after(&self, _: ThreadRef, reading: &mut [u64]) {
        self.read_after(reading);
    }

    fn values(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> usize {
        let count = planned().len();
        values[..count].fill(NO_VALUE);
        match self.difference(before, after, values) {
            Quality::Scaled => SCALED.store(true, Ordering::Relaxed),
            Quality::Silent => SILENT.store(true, Ordering::Relaxed),
            Quality::Exact => {}
        }
        count
    }
}
