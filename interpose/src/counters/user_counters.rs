//! Counters, timers and regions of code inside the stack: the application, the MPI library, a transport below it
//! (`include/mpitrace.h`, `include/roth_tracing.h`).
//!
//! Adding is a store to the thread's own sums, which only ever grow; the recorder takes the difference over each call
//! and region. Names come with the first use, before MPI_Init too.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use mpitrace_format::layout::{CounterEntry, INNER_COUNTERS, counter_source};

use crate::base::lock::lock;
use crate::base::log;
use crate::base::ticks;
use crate::counters::source::{CounterKind, Plan, Source, Started, Wanted};
use crate::operation::registry;
use crate::record::buffer::trace_buffer::TraceBuffer;
use crate::record::thread::ThreadRef;

#[derive(Clone, PartialEq, Eq)]
struct Named {
    name: String,
    unit: String,
    timer: bool,
}

struct Names {
    slots: Vec<Named>,
    /// The trace buffer, and the column of slot 0: once the run has begun.
    live: Option<(&'static TraceBuffer, usize)>,
}

static NAMES: Mutex<Names> = Mutex::new(Names { slots: Vec::new(), live: None });

/// How many slots of the threads' sums have a name, and which of them are timers, a bit each.
static SLOTS: AtomicU32 = AtomicU32::new(0);
static TIMERS: AtomicU32 = AtomicU32::new(0);

/// The slot of a counter, or a timer, of this name; `None`, and one line, where there is no room for another.
pub fn slot(name: &str, unit: &str, timer: bool) -> Option<usize> {
    let mut names = lock(&NAMES);
    if let Some(slot) = names.slots.iter().position(|named| named.name == name && named.timer == timer) {
        return Some(slot);
    }
    let slot = names.slots.len();
    if slot == INNER_COUNTERS {
        drop(names);
        log::warn(&format!("no room for the counter {name}: {INNER_COUNTERS} user counters are in use already"));
        return None;
    }
    names.slots.push(Named { name: name.to_owned(), unit: unit.to_owned(), timer });
    names.enter(slot);
    if timer {
        TIMERS.fetch_or(1 << slot, Ordering::Relaxed);
    }
    SLOTS.store(slot as u32 + 1, Ordering::Release);
    Some(slot)
}

impl Names {
    fn enter(&self, slot: usize) {
        let Some((live, column)) = self.live else { return };
        let Some(mut registry) = registry::lock() else { return };
        let named = &self.slots[slot];
        let (name, unit) = (registry.string(&named.name), registry.string(&named.unit));
        let source = if named.timer { counter_source::TIMER } else { counter_source::INNER };
        let column = (column + slot + 1) as u32;
        live.add(CounterEntry { name, unit, source, column, ..CounterEntry::default() });
    }
}

/// The kind: the sums are kept with the thread. Nothing is planned, and the columns get memory on demand.
pub struct UserCounters;

impl CounterKind for UserCounters {
    fn plan(&self, _: &mut Wanted, _: usize) -> Plan {
        Plan::default()
    }

    /// Enters those that have a name already in the table.
    fn start(&self, started: Started) {
        let mut names = lock(&NAMES);
        names.live = Some((started.buffer, started.column));
        (0..names.slots.len()).for_each(|slot| names.enter(slot));
    }

    fn open(&self) -> Option<Box<dyn Source>> {
        Some(Box::new(UserCounters))
    }
}

impl Source for UserCounters {
    fn words(&self) -> usize {
        INNER_COUNTERS
    }

    fn before(&self, thread: ThreadRef, reading: &mut [u64]) {
        let slots = SLOTS.load(Ordering::Relaxed) as usize;
        thread.with_sums(|sums| reading[..slots].copy_from_slice(&sums.sum[..slots]));
    }

    fn values(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> usize {
        let slots = SLOTS.load(Ordering::Relaxed) as usize;
        let timers = TIMERS.load(Ordering::Relaxed);
        for (slot, value) in values.iter_mut().take(slots).enumerate() {
            let added = after[slot].wrapping_sub(before[slot]);
            *value = if timers & 1 << slot != 0 { ticks::nanoseconds_of(added) } else { added };
        }
        slots
    }
}
