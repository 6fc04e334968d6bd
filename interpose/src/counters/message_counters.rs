//! Calls between the collectives: how many messages and bytes this rank has sent and received, and the time that a
//! thread has spent in calls that can wait ([`waits`]). There are totals, and what has come together since they were
//! taken last.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use mpitrace_format::layout::{CounterEntry, counter_source, wait_class};

use crate::base::entry::Entry;
use crate::base::ticks;
use crate::counters::source::{Counter, CounterKind, Plan, Started, Wanted};
use crate::record::buffer::trace_buffer::TraceBuffer;
use crate::record::thread::{self, attention, waits};

pub const NAMES: [&str; 9] = [
    "messages-sent",
    "bytes-sent",
    "messages-received",
    "bytes-received",
    "puts",
    "bytes-put",
    "gets",
    "bytes-got",
    "p2p-time",
];
/// The number of the time, behind those that count.
const TIME: usize = 8;
/// Where the sums of the threads are, and the entry of the time, which holds the total.
static TIMED: OnceLock<(&TraceBuffer, Entry<CounterEntry>)> = OnceLock::new();

static COUNTING: AtomicBool = AtomicBool::new(false);
/// Where the totals of counters without an entry are.
static UNLISTED: [AtomicU64; TIME] = [const { AtomicU64::new(0) }; TIME];
/// Where the totals are: those of the trace buffer's table, which holds also what comes behind the last collective.
static TOTALS: [AtomicPtr<AtomicU64>; TIME] = [const { AtomicPtr::new((&raw const UNLISTED[0]).cast_mut()) }; TIME];
/// How much of each was taken.
static TAKEN: [AtomicU64; TIME] = [const { AtomicU64::new(0) }; TIME];

/// Messages and bytes sent.
pub const SENT: usize = 0;
/// Received.
pub const RECEIVED: usize = 2;
/// Written to another rank's window.
pub const PUT: usize = 4;
/// Read from another rank's window.
pub const GOT: usize = 6;

/// Messages are counted.
#[inline(always)]
pub fn counting() -> bool {
    COUNTING.load(Ordering::Relaxed)
}

/// In a child that was forked off: the totals are the parent's.
pub fn stop() {
    COUNTING.store(false, Ordering::Relaxed);
}

const ALL: &str = "messages";

/// Numbers in [`NAMES`], in the order of the columns.
static PLANNED: OnceLock<Vec<usize>> = OnceLock::new();

/// The counters of the run: numbers in [`NAMES`] in the order of the columns, of which they have the first.
pub fn planned() -> &'static [usize] {
    PLANNED.get().map_or(&[], Vec::as_slice)
}

/// The kind: counts are the rank's, so that threads have nothing to open.
pub struct MessageCounters;

impl CounterKind for MessageCounters {
    fn plan(&self, wanted: &mut Wanted, _: usize) -> Plan {
        let mut numbers: Vec<usize> = Vec::new();
        for name in std::mem::take(&mut wanted.events) {
            let is_meant = |number: &usize| NAMES[*number] == name || name == ALL && *number != TIME;
            let meant: Vec<usize> = (0..NAMES.len()).filter(is_meant).collect();
            if meant.is_empty() {
                wanted.events.push(name);
            }
            for number in meant {
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
        }
        let mut left_out = Vec::new();
        if !waits::are_stamped() && numbers.contains(&TIME) {
            numbers.retain(|number| *number != TIME);
            let reason = format!("{}: MPITRACE_P2P=0 leaves the time stamps out", NAMES[TIME]);
            left_out.push(Counter { name: NAMES[TIME].to_owned(), unit: "ns", reason, ..Counter::default() });
        }
        let unit = |name: &str| match name {
            _ if name == NAMES[TIME] => "ns",
            _ if name.starts_with("bytes") => "bytes",
            _ => "messages",
        };
        let counter = |&number: &usize| Counter {
            name: NAMES[number].to_owned(),
            unit: unit(NAMES[number]),
            source: counter_source::MESSAGES,
            ..Counter::default()
        };
        let counters = numbers.iter().map(counter).collect();
        let _ = PLANNED.set(numbers);
        let notes = left_out.iter().map(|counter| counter.reason.clone()).collect();
        Plan { counters, left_out, notes }
    }

    fn start(&self, started: Started) {
        debug_assert_eq!(started.column, 0, "they are taken by column");
        for (total, unlisted) in TOTALS.iter().zip(&UNLISTED) {
            total.store((&raw const *unlisted).cast_mut(), Ordering::Relaxed);
        }
        for (&number, &entry) in planned().iter().zip(started.entries) {
            thread::attend_to(attention::COUNTERS);
            if number == TIME {
                entry.and_then(|entry| TIMED.set((started.buffer, entry)).ok());
                continue;
            }
            if let Some(entry) = entry {
                TOTALS[number].store((&raw const *entry.total()).cast_mut(), Ordering::Relaxed);
            }
            COUNTING.store(true, Ordering::Release);
        }
    }

    /// The total of the time gets what came behind the last collective of each thread.
    fn finish(&self) -> Option<&'static str> {
        let (buffer, entry) = TIMED.get()?;
        let sum = |class| buffer.thread_times().map(|times| times.ticks(class)).sum::<u64>();
        let all = (0..wait_class::REQUESTS).map(sum).sum();
        entry.total().store(ticks::nanoseconds_of(all), Ordering::Relaxed);
        None
    }
}

/// Takes what has come together, and gives it to `store` by column. Also where a call is not kept: then nothing looks
/// at the values.
pub fn take(mut store: impl FnMut(usize, u64)) {
    for (column, &number) in planned().iter().enumerate() {
        store(column, if number == TIME { take_time() } else { take_count(number) });
    }
}

/// The time in calls that can wait since it was taken last on this thread, ns.
fn take_time() -> u64 {
    let ns = thread::current().map_or(0, |thread| ticks::nanoseconds_of(thread.take_waits()));
    if let Some((_, entry)) = TIMED.get() {
        entry.total().fetch_add(ns, Ordering::Relaxed);
    }
    ns
}

fn total(counter: usize) -> &'static AtomicU64 {
    // SAFETY: leads to one of the statics, or to the total of an entry, which lasts.
    unsafe { &*TOTALS[counter].load(Ordering::Relaxed) }
}

/// The count since it was taken last.
fn take_count(counter: usize) -> u64 {
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

/// A message was received, if one was.
pub fn count_received(bytes: Option<u64>) {
    if let Some(bytes) = bytes {
        count(RECEIVED, bytes);
    }
}
