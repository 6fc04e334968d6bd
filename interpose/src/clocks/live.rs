//! Global time while the program runs, for programs that ask for it: the map that the last synchronisation has given, on a page that
//! the ranks of a domain share.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};

use mpitrace_format::ticks::AffineMap;

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
