//! How many messages and bytes this rank has sent and received: totals, and what has come together since they were taken
//! last.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use mpitrace_format::layout::{CounterEntry, counter_source};

use crate::counters::source::{At, Counter, Named, Plan, Source, When};
use crate::record::entry::Entry;

/// The counters' names, in the order of [`COUNTS`].
pub const NAMES: [&str; 8] =
    ["messages-sent", "bytes-sent", "messages-received", "bytes-received", "puts", "bytes-put", "gets", "bytes-got"];

static COUNTING: AtomicBool = AtomicBool::new(false);
/// Where the totals of counters without an entry are.
static UNLISTED: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];
/// Where the totals are: those of the trace buffer's table, which holds also what comes behind the last collective.
static TOTALS: [AtomicPtr<AtomicU64>; NAMES.len()] =
    [const { AtomicPtr::new((&raw const UNLISTED[0]).cast_mut()) }; NAMES.len()];
/// How much of each was taken.
static TAKEN: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

/// Messages and bytes sent.
pub const SENT: usize = 0;
/// Received.
pub const RECEIVED: usize = 2;
/// Written to another rank's window.
pub const PUT: usize = 4;
/// Read from another rank's window.
pub const GOT: usize = 6;

/// Whether messages are counted.
#[inline(always)]
pub fn counting() -> bool {
    COUNTING.load(Ordering::Relaxed)
}

/// In a child that was forked off: the totals are the parent's.
pub fn stop() {
    COUNTING.store(false, Ordering::Relaxed);
}

/// The name that stands for all of them.
const ALL: &str = "messages";

/// What was planned: numbers in [`NAMES`].
static PLANNED: OnceLock<Vec<usize>> = OnceLock::new();

/// The source: counts are the rank's, so that threads have nothing of their own.
pub struct MessageCounters;

impl Source for MessageCounters {
    type Wanted = Vec<usize>;
    const WHEN: When = When::AtStart;

    fn want(wanted: &mut Vec<usize>, name: &str) -> Named {
        let meant = |known: &&str| *known == name || name == ALL;
        let numbers: Vec<usize> = (0..NAMES.len()).filter(|&number| meant(&NAMES[number])).collect();
        if numbers.is_empty() {
            return Named::NotMine;
        }
        for number in numbers {
            if !wanted.contains(&number) {
                wanted.push(number);
            }
        }
        Named::Mine
    }

    fn plan(wanted: &Vec<usize>, _: usize) -> Plan {
        let _ = PLANNED.set(wanted.clone());
        let counter = |&number: &usize| Counter {
            name: NAMES[number].to_owned(),
            unit: if NAMES[number].starts_with("bytes") { "bytes" } else { "messages" },
            source: counter_source::MESSAGES,
            ..Counter::default()
        };
        Plan { counters: wanted.iter().map(counter).collect(), ..Plan::default() }
    }

    fn start(entries: &[Option<Entry<CounterEntry>>]) {
        for (total, unlisted) in TOTALS.iter().zip(&UNLISTED) {
            total.store((&raw const *unlisted).cast_mut(), Ordering::Relaxed);
        }
        for (&number, entry) in PLANNED.get().into_iter().flatten().zip(entries) {
            if let Some(entry) = entry {
                TOTALS[number].store((&raw const *entry.total()).cast_mut(), Ordering::Relaxed);
            }
        }
        COUNTING.store(!entries.is_empty(), Ordering::Release);
    }

    fn open() -> MessageCounters {
        MessageCounters
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
        for (value, &number) in values.iter_mut().zip(PLANNED.get().into_iter().flatten()) {
            *value = take(number);
        }
    }
}

fn total(counter: usize) -> &'static AtomicU64 {
    // SAFETY: leads to one of the statics, or to the total of an entry, which lasts.
    unsafe { &*TOTALS[counter].load(Ordering::Relaxed) }
}

/// What has come together since it was taken last.
fn take(counter: usize) -> u64 {
    let now = total(counter).load(Ordering::Relaxed);
    // Most are 0 most of the time, and reading costs a tenth of exchanging.
    if TAKEN[counter].load(Ordering::Relaxed) == now {
        return 0;
    }
    // Another thread may have taken more meanwhile.
    now.saturating_sub(TAKEN[counter].fetch_max(now, Ordering::Relaxed))
}

/// A message of this kind, of so many bytes.
pub fn count(kind: usize, bytes: u64) {
    total(kind).fetch_add(1, Ordering::Relaxed);
    total(kind + 1).fetch_add(bytes, Ordering::Relaxed);
}

/// A message of so many bytes was sent.
pub fn count_sent(bytes: u64) {
    count(SENT, bytes);
}

/// A message was received, if one was.
pub fn count_received(bytes: Option<u64>) {
    if let Some(bytes) = bytes {
        count(RECEIVED, bytes);
    }
}
