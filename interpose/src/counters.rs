//! Counters per call: which ones the run has, where their columns lie, and when they are read.
//!
//! A counter has a fixed-size array of its own beside the time stamps, one value per call. Without counters a call pays one
//! branch for them.

use std::sync::OnceLock;

use trace::trace::layout::{CounterEntry, counter_source};

use crate::live::Live;
use crate::registry;
use crate::stretch::Columns;
use crate::tally;
use crate::thread::{self, attention};

/// A counter that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// As the user writes it.
    pub name: &'static str,
    unit: &'static str,
    /// Number among those of [`crate::tally`].
    index: usize,
}

/// A counter that is read, with what is said of it in the segment.
struct Running {
    index: usize,
    entry: *mut CounterEntry,
}

// SAFETY: the entry lies in the segment, which stays mapped; its total is added to atomically.
unsafe impl Sync for Running {}
// SAFETY: as above.
unsafe impl Send for Running {}

static RUNNING: OnceLock<Vec<Running>> = OnceLock::new();

/// The name that stands for all counters of messages.
const ALL_MESSAGES: &str = "messages";

/// The counters that a list of names stands for, and the names that stand for none.
pub fn choose(names: &[String]) -> (Vec<Counter>, Vec<String>) {
    let (mut chosen, mut unknown): (Vec<Counter>, Vec<String>) = (Vec::new(), Vec::new());
    for name in names {
        let named = tally::NAMES.iter().enumerate().filter(|(_, known)| *known == name || name == ALL_MESSAGES);
        let before = chosen.len();
        for (index, &name) in named {
            let unit = if name.starts_with("bytes") { "bytes" } else { "messages" };
            chosen.push(Counter { name, unit, index });
        }
        if chosen.len() == before {
            unknown.push(name.clone());
        }
    }
    let mut seen = Vec::new();
    chosen.retain(|counter| {
        !seen.contains(&counter.index) && {
            seen.push(counter.index);
            true
        }
    });
    (chosen, unknown)
}

/// Enters the counters in the segment's table and starts them. To be called once, before the first call is recorded.
pub fn start(live: &'static Live, counters: &[Counter]) {
    let mut running = Vec::new();
    for (column, counter) in (1..).zip(counters) {
        let Some(mut registry) = registry::lock() else { return };
        let (name, unit) = (registry.string(counter.name), registry.string(counter.unit));
        let source = counter_source::MESSAGES;
        let entry = live.add_counter(CounterEntry { name, unit, source, column, ..CounterEntry::default() });
        running.extend(entry.map(|entry| Running { index: counter.index, entry }));
    }
    if !running.is_empty() {
        let _ = RUNNING.set(running);
        tally::start();
        thread::attend_to(attention::COUNTERS);
    }
}

/// Stores the counters of a call that is about to begin.
///
/// # Safety
/// The columns are those of the calling thread's stretch, and the record lies in it.
#[cold]
#[inline(never)]
pub unsafe fn before(columns: &Columns, record: usize) {
    for (column, counter) in RUNNING.get().into_iter().flatten().enumerate() {
        let value = counter.take();
        // SAFETY: the caller's promise; the stretch has a column for each counter.
        unsafe { columns.counters.add(column * columns.stride + record).write(value) };
    }
}

/// A call is not kept: what its counters would have held is only in their totals.
#[cold]
#[inline(never)]
pub fn skipped() {
    for counter in RUNNING.get().into_iter().flatten() {
        counter.take();
    }
}

impl Running {
    /// What has come together since the last call.
    fn take(&self) -> u64 {
        let value = tally::take(self.index);
        if value == 0 {
            return 0;
        }
        // SAFETY: the entry lies in the segment, aligned; nobody reads it in another way while the program runs.
        let total = unsafe { std::sync::atomic::AtomicU64::from_ptr(&raw mut (*self.entry).total) };
        total.fetch_add(value, std::sync::atomic::Ordering::Relaxed);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_named_twice_is_there_once_and_an_unknown_one_is_handed_back() {
        let names = ["bytes-sent", "messages", "cycles", "bytes-sent"].map(str::to_owned);
        let (chosen, unknown) = choose(&names);
        assert_eq!(chosen.len(), tally::NAMES.len());
        assert_eq!(chosen[0].name, "bytes-sent");
        assert_eq!(unknown, ["cycles"]);
    }
}
