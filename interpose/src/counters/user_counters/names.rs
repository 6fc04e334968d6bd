//! The names of counters and timers, and the slots that they have.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mpitrace_format::layout::{CounterEntry, INNER_COUNTERS, counter_source};

use super::sums;
use crate::base::log;
use crate::identity::registry;
use crate::record::trace_buffer::TraceBuffer;

/// A counter or a timer of code inside the stack.
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
    period_ns: f64,
}

static NAMES: Mutex<Names> = Mutex::new(Names { slots: Vec::new(), live: None, period_ns: 1.0 });

fn lock() -> MutexGuard<'static, Names> {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The run begins: what has a name already is entered in the trace buffer's table. `column` is that of slot 0, a tick
/// takes `period_ns`.
pub fn start(live: &'static TraceBuffer, column: usize, period_ns: f64) {
    let mut names = lock();
    names.live = Some((live, column));
    names.period_ns = period_ns;
    (0..names.slots.len()).for_each(|slot| names.enter(slot));
    names.publish();
}

/// The slot of a counter, or a timer, of this name; `None`, and one line, where there is no room for another.
pub fn slot(name: &str, unit: &str, timer: bool) -> Option<usize> {
    let mut names = lock();
    if let Some(slot) = names.slots.iter().position(|named| named.name == name && named.timer == timer) {
        return Some(slot);
    }
    if names.slots.len() == INNER_COUNTERS {
        drop(names);
        log::warn(&format!("no room for the counter {name}: {INNER_COUNTERS} user counters are in use already"));
        return None;
    }
    names.slots.push(Named { name: name.to_owned(), unit: unit.to_owned(), timer });
    let slot = names.slots.len() - 1;
    names.enter(slot);
    names.publish();
    Some(slot)
}

/// The column of a slot; `None` before the run has begun.
pub fn column(slot: usize) -> Option<usize> {
    let names = lock();
    names.live.filter(|_| slot < names.slots.len()).map(|(_, column)| column + slot)
}

impl Names {
    fn enter(&self, slot: usize) {
        let Some((live, column)) = self.live else { return };
        let Some(mut registry) = registry::lock() else { return };
        let named = &self.slots[slot];
        let (name, unit) = (registry.string(&named.name), registry.string(&named.unit));
        let source = if named.timer { counter_source::TIMER } else { counter_source::INNER };
        let column = (column + slot + 1) as u32;
        live.add_counter(CounterEntry { name, unit, source, column, ..CounterEntry::default() });
    }

    fn publish(&self) {
        let timers = self.slots.iter().enumerate().filter(|(_, named)| named.timer);
        let timers = timers.fold(0, |bits, (slot, _)| bits | 1 << slot);
        sums::set_slots(self.slots.len() as u32, timers, self.period_ns);
    }
}
