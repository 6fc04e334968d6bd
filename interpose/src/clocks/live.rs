//! Global time while the program runs, for programs that ask for it: the map that the last synchronisation has given, on a page that
//! the ranks of a domain share.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};

use trace::clock::AffineMap;

use super::{CLOCKS, LocalClock};
use crate::ticks;

/// From the domain's clock to the reference. The leader writes, all ranks of the domain read.
#[repr(C)]
#[derive(Default)]
pub struct Page {
    /// Odd while the map is being changed.
    sequence: AtomicU64,
    local0: AtomicU64,
    reference0: AtomicU64,
    skew: AtomicU64,
}

/// The page of this process; null before the first synchronisation.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(std::ptr::null_mut());

/// Takes a page that the domain shares, or (null) one of this rank's own, with the reference's own map on it.
pub fn start(page: *mut u8) {
    let page: *mut Page = if page.is_null() { Box::into_raw(Box::default()) } else { page.cast() };
    PAGE.store(page, Ordering::Release);
}

/// The leader has a new map.
pub fn set(map: &AffineMap) {
    // SAFETY: a page, once set, stays mapped.
    let Some(page) = (unsafe { PAGE.load(Ordering::Acquire).as_ref() }) else { return };
    let sequence = page.sequence.load(Ordering::Relaxed);
    page.sequence.store(sequence + 1, Ordering::Relaxed);
    fence(Ordering::Release);
    page.local0.store(map.local0, Ordering::Relaxed);
    page.reference0.store(map.reference0, Ordering::Relaxed);
    page.skew.store(map.skew.to_bits(), Ordering::Relaxed);
    page.sequence.store(sequence + 2, Ordering::Release);
}

/// The map as it is now; `None` before there is one.
pub fn get() -> Option<AffineMap> {
    // SAFETY: as above.
    let page = unsafe { PAGE.load(Ordering::Acquire).as_ref() }?;
    loop {
        let before = page.sequence.load(Ordering::Acquire);
        let map = AffineMap {
            local0: page.local0.load(Ordering::Relaxed),
            reference0: page.reference0.load(Ordering::Relaxed),
            skew: f64::from_bits(page.skew.load(Ordering::Relaxed)),
        };
        fence(Ordering::Acquire);
        if before.is_multiple_of(2) && page.sequence.load(Ordering::Relaxed) == before {
            return Some(map);
        }
        std::hint::spin_loop();
    }
}

/// Where global time begins, and how fast the reference ticks.
#[derive(Clone, Copy)]
pub struct Scale {
    /// The reference's tick at which it is 0.
    pub zero: u64,
    /// Ticks per second.
    pub hz: f64,
}

/// Global time at a reading of this rank's clock, ns.
fn nanoseconds(clock: &LocalClock, scale: Scale, reading: u64) -> Option<i64> {
    let reference = get()?.apply(clock.shown(reading));
    let since = reference.wrapping_sub(scale.zero) as i64 as f64;
    Some((since * 1e9 / scale.hz) as i64)
}

/// Global time in ns since MPI_Init on world rank 0; -1 where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn mpitrace_global_time_ns() -> i64 {
    let reading = ticks::now();
    CLOCKS.get().and_then(|clocks| nanoseconds(&clocks.clock, clocks.scale, reading)).unwrap_or(-1)
}
