//! What the counters of a thread stood at before a call, and what they have come to after it.
//!
//! Events of perf_event and what code inside the stack adds only ever grow; a value is the difference. The time stamps lie
//! between the two readings, so that reading is outside of what is timed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mpitrace_format::layout::{INNER_COUNTERS, NO_VALUE};

use crate::counters::mpi_t;
use crate::counters::perf::{self, Event, Quality};
use crate::record::chunk::Columns;

/// What is read around each call.
pub struct Plan {
    /// Events of perf_event.
    pub events: Vec<Event>,
    /// The column of the first event; the others follow, then the performance variables.
    pub column: usize,
}

static PLAN: OnceLock<Plan> = OnceLock::new();

/// Names what is read, once, before threads are sampled.
pub fn start(plan: Plan) {
    let _ = PLAN.set(plan);
}

/// The worst that was seen of the hardware events: a [`Quality`] as a number.
static WORST: AtomicU32 = AtomicU32::new(0);

/// Whether hardware events were scaled up, and whether they did not run in some call, since the run began.
pub fn quality() -> (bool, bool) {
    let worst = WORST.load(Ordering::Relaxed);
    (worst & 1 != 0, worst & 2 != 0)
}

/// What code inside the stack has added on a thread since that began.
pub struct Sums {
    /// By slot; those of timers in ticks.
    pub sum: [u64; INNER_COUNTERS],
    /// When a timer was started, ticks; 0: it is not running.
    pub started: [u64; INNER_COUNTERS],
}

impl Sums {
    /// Nothing yet.
    pub const ZERO: Sums = Sums { sum: [0; INNER_COUNTERS], started: [0; INNER_COUNTERS] };
}

/// How many slots of [`Sums`] have a name, and which of them are timers, a bit each.
static SLOTS: AtomicU32 = AtomicU32::new(0);
static TIMERS: AtomicU32 = AtomicU32::new(0);
/// ns per tick, as the bits of a float.
static PERIOD: AtomicU64 = AtomicU64::new(0);

/// The slots in use. ns per tick for those of timers.
pub fn set_slots(slots: u32, timers: u32, period_ns: f64) {
    TIMERS.store(timers, Ordering::Relaxed);
    PERIOD.store(period_ns.to_bits(), Ordering::Relaxed);
    SLOTS.store(slots, Ordering::Release);
}

/// What all counters stood at at one moment.
pub struct Reading {
    events: Box<[u64]>,
    variables: Box<[u64]>,
    sums: [u64; INNER_COUNTERS],
}

/// Reads the counters of one thread.
pub struct Sampler {
    /// `None`: none were asked for.
    events: Option<perf::Counters>,
    /// Before the call in progress.
    pub call: Reading,
    after: Reading,
    values: Box<[u64]>,
}

impl Sampler {
    /// Opens the counters for the calling thread, which alone may use them.
    pub fn open() -> Box<Sampler> {
        let asked = PLAN.get().map_or(&[][..], |plan| &plan.events);
        let events = if asked.is_empty() { None } else { Some(perf::Counters::open(asked).0) };
        let values = vec![0; asked.len() + mpi_t::count()].into();
        let mut sampler = Box::new(Sampler { events, call: Reading::empty(), after: Reading::empty(), values });
        (sampler.call, sampler.after) = (sampler.reading(), sampler.reading());
        sampler
    }

    /// Room for one.
    pub fn reading(&self) -> Reading {
        Reading {
            events: vec![0; self.events.as_ref().map_or(0, perf::Counters::words)].into(),
            variables: vec![0; mpi_t::words()].into(),
            sums: [0; INNER_COUNTERS],
        }
    }

    /// Before the call in progress, on the communicator of this handle.
    #[inline(always)]
    pub fn begin(&mut self, sums: &Sums, communicator: usize) {
        read(self.events.as_ref(), &mut self.call, sums, communicator, false);
    }

    /// Before something else, a region for one.
    pub fn begin_into(&self, reading: &mut Reading, sums: &Sums, communicator: usize) {
        read(self.events.as_ref(), reading, sums, communicator, false);
    }

    /// After the call that [`Sampler::begin`] came before: its values into the columns.
    ///
    /// # Safety
    /// The record lies in the columns, which are the calling thread's; with `inner` those of the stack's inner counters have
    /// memory.
    #[inline(always)]
    pub unsafe fn end(&mut self, sums: &Sums, communicator: usize, columns: &Columns, record: usize, inner: bool) {
        let Sampler { events, call, after, values } = self;
        read(events.as_ref(), after, sums, communicator, true);
        // SAFETY: the caller's promise.
        unsafe { store(events.as_ref(), call, after, values, columns, record, inner) };
    }

    /// After what [`Sampler::begin_into`] came before.
    ///
    /// # Safety
    /// As of [`Sampler::end`].
    pub unsafe fn end_of(
        &mut self,
        before: &Reading,
        sums: &Sums,
        communicator: usize,
        columns: &Columns,
        record: usize,
        inner: bool,
    ) {
        let Sampler { events, after, values, .. } = self;
        read(events.as_ref(), after, sums, communicator, true);
        // SAFETY: the caller's promise.
        unsafe { store(events.as_ref(), before, after, values, columns, record, inner) };
    }
}

impl Reading {
    fn empty() -> Reading {
        Reading { events: Box::new([]), variables: Box::new([]), sums: [0; INNER_COUNTERS] }
    }
}

/// Events last before a call and first after it: nothing of the other readings is in their counts.
#[inline(always)]
fn read(events: Option<&perf::Counters>, reading: &mut Reading, sums: &Sums, communicator: usize, events_first: bool) {
    if let Some(events) = events
        && events_first
    {
        events.read_after(&mut reading.events);
    }
    let variables = |reading: &mut Reading| {
        if !reading.variables.is_empty() {
            mpi_t::read_into(communicator, &mut reading.variables);
        }
    };
    // An instrumented library may add something while its variables are read: that is outside of the call.
    if !events_first {
        variables(reading);
    }
    let slots = (SLOTS.load(Ordering::Relaxed) as usize).min(INNER_COUNTERS);
    reading.sums[..slots].copy_from_slice(&sums.sum[..slots]);
    if events_first {
        variables(reading);
    }
    if let Some(events) = events
        && !events_first
    {
        events.read_before(&mut reading.events);
    }
}

/// # Safety
/// As of [`Sampler::end`].
#[inline(always)]
unsafe fn store(
    events: Option<&perf::Counters>,
    before: &Reading,
    after: &Reading,
    values: &mut [u64],
    columns: &Columns,
    record: usize,
    inner: bool,
) {
    if let Some(plan) = PLAN.get()
        && !values.is_empty()
    {
        let (of_events, of_variables) = values.split_at_mut(plan.events.len());
        of_events.fill(NO_VALUE);
        match events.map(|events| events.difference(&before.events, &after.events, of_events)) {
            Some(Quality::Scaled) => {
                WORST.fetch_or(1, Ordering::Relaxed);
            }
            Some(Quality::Silent) => {
                WORST.fetch_or(2, Ordering::Relaxed);
            }
            _ => {}
        }
        mpi_t::difference(&before.variables, &after.variables, of_variables);
        for (index, value) in values.iter().enumerate() {
            // SAFETY: the caller's promise; the chunk has a column for each of them.
            unsafe { columns.counters.add((plan.column + index) * columns.stride + record).write(*value) };
        }
    }
    if inner {
        let slots = (SLOTS.load(Ordering::Relaxed) as usize).min(INNER_COUNTERS);
        let (timers, period) = (TIMERS.load(Ordering::Relaxed), f64::from_bits(PERIOD.load(Ordering::Relaxed)));
        for slot in 0..slots {
            let added = after.sums[slot].wrapping_sub(before.sums[slot]);
            let value = if timers & 1 << slot != 0 { (added as f64 * period).round() as u64 } else { added };
            // SAFETY: as above.
            unsafe { columns.inner.add(slot * columns.stride + record).write(value) };
        }
    }
}
