//! The time in calls that are not recorded: point-to-point and one-sided messages, completing requests, input and
//! output of one rank. It shows what a rank that comes late to a collective did.
//!
//! Two time stamps a call, and only where the program's user asked for it. The time is the thread's; a collective takes
//! what has come together on its thread since the one before.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mpitrace_format::layout::{CounterEntry, counter_source};

use crate::counters::source::{At, Counter, Named, Plan, Source, When};
use crate::record::entry::Entry;
use crate::record::thread::{self, ThreadRef};
use crate::record::ticks;

/// The name in `MPITRACE_EVENTS` and in the trace.
pub const NAME: &str = "p2p-time";

static ON: AtomicBool = AtomicBool::new(false);
/// ns per tick, as the bits of a float.
static PERIOD: AtomicU64 = AtomicU64::new(0);
/// The entry of the counter, which holds the total.
static ENTRY: OnceLock<Entry<CounterEntry>> = OnceLock::new();

/// Whether the time is counted.
#[inline(always)]
pub fn on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Runs a call that is not recorded; its time counts where that was asked for.
#[inline(always)]
pub fn during<R>(call: impl FnOnce() -> R) -> R {
    if on() { thread::guarded(call) } else { call() }
}

/// Time that counts until this is dropped, also where a C++ exception passes through.
pub struct Counted {
    thread: ThreadRef,
    since: u64,
}

impl Counted {
    /// From now on.
    pub fn on(thread: ThreadRef) -> Counted {
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

/// The source: what a thread has spent is kept with it.
pub struct P2pTime;

impl Source for P2pTime {
    type Wanted = bool;
    const WHEN: When = When::AtStart;

    fn want(wanted: &mut bool, name: &str) -> Named {
        if name != NAME {
            return Named::NotMine;
        }
        *wanted = true;
        Named::Mine
    }

    fn plan(wanted: &bool, room: usize) -> Plan {
        let mut plan = Plan::default();
        let counter =
            Counter { name: NAME.to_owned(), unit: "ns", source: counter_source::MESSAGES, ..Counter::default() };
        match (wanted, room) {
            (false, _) => {}
            (true, 0) => {
                plan.notes.push(format!("{NAME} is left out: no column is left for it"));
                plan.left_out.push(Counter { reason: plan.notes[0].clone(), ..counter });
            }
            (true, _) => plan.counters.push(counter),
        }
        plan
    }

    fn start(entries: &[Option<Entry<CounterEntry>>]) {
        let Some(&entry) = entries.first() else { return };
        if let Some(entry) = entry {
            let _ = ENTRY.set(entry);
        }
        PERIOD.store((1e9 / ticks::roughly_hz()).to_bits(), Ordering::Relaxed);
        ON.store(true, Ordering::Release);
    }

    fn open() -> P2pTime {
        P2pTime
    }

    fn words(&self) -> usize {
        0
    }

    fn before(&self, _: At, _: &mut [u64]) {}

    fn after(&self, _: At, _: &mut [u64]) {}

    fn values(&self, _: &[u64], _: &[u64], _: &mut [u64]) -> usize {
        0
    }

    fn take(values: &mut [u64]) {
        let (Some(value), Some(thread)) = (values.first_mut(), thread::current()) else { return };
        *value = nanoseconds(thread.take_other_mpi());
    }
}

fn nanoseconds(ticks: u64) -> u64 {
    (ticks as f64 * f64::from_bits(PERIOD.load(Ordering::Relaxed))).round() as u64
}
