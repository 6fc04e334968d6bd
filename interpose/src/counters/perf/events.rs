//! The source of counters that events of perf_event are.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mpitrace_format::layout::{CounterEntry, NO_VALUE, counter_flags, counter_source};

use super::{Counters, Event, Quality, parse};
use crate::counters::source::{At, Counter, MOST, Named, Plan, Source, When};
use crate::record::entry::Entry;

/// The events that are counted.
static PLANNED: OnceLock<Vec<Event>> = OnceLock::new();
/// The entries of those of the processor, for what becomes known of them at the end.
static OF_PROCESSOR: OnceLock<Vec<Entry<CounterEntry>>> = OnceLock::new();

/// Whether values were scaled up, and whether events did not run in some call, since the run began.
static SCALED: AtomicBool = AtomicBool::new(false);
static SILENT: AtomicBool = AtomicBool::new(false);

/// The events of one thread; `None`: none were asked for.
pub struct Events(Option<Counters>);

impl Source for Events {
    type Wanted = Vec<Event>;
    const WHEN: When = When::Around;

    fn want(wanted: &mut Vec<Event>, name: &str) -> Named {
        match parse(name) {
            Ok(event) if wanted.contains(&event) => Named::Mine,
            Ok(event) => {
                wanted.push(event);
                Named::Mine
            }
            Err(what) => Named::Wrong(what),
        }
    }

    /// By opening the events once, on the calling thread.
    fn plan(wanted: &Vec<Event>, room: usize) -> Plan {
        let mut plan = Plan::default();
        if wanted.is_empty() {
            return plan;
        }
        let (counters, said) = Counters::open(wanted);
        let counted: Vec<usize> = counters.counted().collect();
        let counter = |event: &Event, reason: &str| Counter {
            name: event.name.clone(),
            unit: event.unit,
            source: if event.is_hardware() { counter_source::HARDWARE } else { counter_source::SOFTWARE },
            flags: 0,
            reason: reason.to_owned(),
        };
        plan.notes = said.iter().map(|note| note.text.clone()).collect();
        for &index in counted.iter().take(room) {
            // One that is counted in part has a reason too.
            let reason = said.iter().find(|note| note.event == index).map_or("", |note| note.text.as_str());
            plan.counters.push(counter(&wanted[index], reason));
        }
        let left_out = said.iter().filter(|note| note.left_out);
        plan.left_out = left_out.map(|note| counter(&wanted[note.event], &note.text)).collect();
        for &index in counted.iter().skip(room) {
            let text = format!("{} is left out: a trace has {MOST} columns for counters", wanted[index].name);
            plan.left_out.push(counter(&wanted[index], &text));
            plan.notes.push(text);
        }
        let _ = PLANNED.set(counted.iter().take(room).map(|&index| wanted[index].clone()).collect());
        plan
    }

    fn start(entries: &[Option<Entry<CounterEntry>>]) {
        let events = PLANNED.get().into_iter().flatten().zip(entries);
        let of_processor = events.filter(|(event, _)| event.is_hardware()).filter_map(|(_, entry)| *entry);
        let _ = OF_PROCESSOR.set(of_processor.collect());
    }

    fn open() -> Events {
        // What there is to say was said when the run began.
        Events(PLANNED.get().filter(|events| !events.is_empty()).map(|events| Counters::open(events).0))
    }

    fn words(&self) -> usize {
        self.0.as_ref().map_or(0, Counters::words)
    }

    #[inline(always)]
    fn before(&self, _: At, reading: &mut [u64]) {
        if let Some(counters) = &self.0 {
            counters.read_before(reading);
        }
    }

    #[inline(always)]
    fn after(&self, _: At, reading: &mut [u64]) {
        if let Some(counters) = &self.0 {
            counters.read_after(reading);
        }
    }

    #[inline(always)]
    fn values(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> usize {
        values.fill(NO_VALUE);
        match self.0.as_ref().map(|counters| counters.difference(before, after, values)) {
            Some(Quality::Scaled) => SCALED.store(true, Ordering::Relaxed),
            Some(Quality::Silent) => SILENT.store(true, Ordering::Relaxed),
            _ => {}
        }
        values.len()
    }

    fn finish() -> Option<&'static str> {
        if SCALED.load(Ordering::Relaxed) {
            for entry in OF_PROCESSOR.get().into_iter().flatten() {
                entry.set_flags(entry.flags() | counter_flags::SCALED);
            }
        }
        SILENT.load(Ordering::Relaxed).then_some(
            "the hardware events did not run during some calls, which have no value then: ask for fewer at once",
        )
    }
}
