//! The time in calls that are not recorded, for each thread; counted where [`start`] has asked for it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mpitrace_format::layout::CounterEntry;

use crate::record::entry::Entry;
use crate::record::thread::state::ThreadRef;
use crate::record::ticks;

static ON: AtomicBool = AtomicBool::new(false);
/// ns per tick, as the bits of a float.
static PERIOD: AtomicU64 = AtomicU64::new(0);
/// The entry of the counter, which holds the total.
static ENTRY: OnceLock<Entry<CounterEntry>> = OnceLock::new();

/// Counts from now on, also into the total of this entry.
pub fn start(entry: Option<Entry<CounterEntry>>) {
    if let Some(entry) = entry {
        let _ = ENTRY.set(entry);
    }
    PERIOD.store((1e9 / ticks::roughly_hz()).to_bits(), Ordering::Relaxed);
    ON.store(true, Ordering::Release);
}

/// True if the time is counted.
#[inline(always)]
pub fn is_counted() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Time that counts until this is dropped, also where a C++ exception passes through.
pub struct Counted {
    thread: ThreadRef,
    since: u64,
}

impl Counted {
    /// From now on.
    pub fn start(thread: ThreadRef) -> Counted {
        Counted { thread, since: ticks::now() }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let spent = ticks::now().wrapping_sub(self.since);
        self.thread.add_other_mpi(spent);
        if let Some(entry) = ENTRY.get() {
            // At once: there may be no further collective.
            entry.total().fetch_add(nanoseconds(spent), Ordering::Relaxed);
        }
    }
}

/// Ticks as ns.
pub fn nanoseconds(ticks: u64) -> u64 {
    (ticks as f64 * f64::from_bits(PERIOD.load(Ordering::Relaxed))).round() as u64
}
