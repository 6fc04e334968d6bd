//! The source of counters that code inside the stack adds to.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use mpitrace_format::layout::INNER_COUNTERS;

use crate::counters::source::{At, Named, Plan, Source, When};

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

/// The source: the sums are kept with the thread. They have columns of their own, whose names come while the program
/// runs (`names.rs`), so that nothing is planned.
pub struct UserCounters;

impl Source for UserCounters {
    type Wanted = ();
    const WHEN: When = When::AroundOnDemand;

    fn want((): &mut (), _: &str) -> Named {
        Named::NotMine
    }

    fn plan((): &(), _: usize) -> Plan {
        Plan::default()
    }

    fn open() -> UserCounters {
        UserCounters
    }

    fn words(&self) -> usize {
        INNER_COUNTERS
    }

    #[inline(always)]
    fn before(&self, at: At, reading: &mut [u64]) {
        let slots = SLOTS.load(Ordering::Relaxed) as usize;
        reading.iter_mut().take(slots).enumerate().for_each(|(slot, sum)| *sum = at.thread.sum(slot));
    }

    #[inline(always)]
    fn after(&self, at: At, reading: &mut [u64]) {
        self.before(at, reading);
    }

    #[inline(always)]
    fn values(&self, before: &[u64], after: &[u64], values: &mut [u64]) -> usize {
        let slots = (SLOTS.load(Ordering::Relaxed) as usize).min(INNER_COUNTERS);
        let (timers, period) = (TIMERS.load(Ordering::Relaxed), f64::from_bits(PERIOD.load(Ordering::Relaxed)));
        for (slot, value) in values.iter_mut().take(slots).enumerate() {
            let added = after[slot].wrapping_sub(before[slot]);
            *value = if timers & 1 << slot != 0 { (added as f64 * period).round() as u64 } else { added };
        }
        slots
    }
}
