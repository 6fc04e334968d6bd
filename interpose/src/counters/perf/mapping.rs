//! The page of an event, mapped.

use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use mpitrace_format::layout::PAGE;
use mpitrace_platform::perf::{self, Attributes, flag};

use crate::boundary::system::descriptor;
use crate::counters::perf::page::{Page, capability};

/// A mapped page; unmapped when it is dropped. In a child that was forked off it is not mapped: the kernel leaves it
/// out.
pub struct Mapping(NonNull<Page>);

impl Mapping {
    /// Maps the page of the event; `None`: the kernel gives none (`kernel.perf_event_mlock_kb` is used up).
    pub fn new(event: c_int) -> Option<Mapping> {
        // SAFETY: maps the first page of the event, without the buffer of samples that would follow.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), PAGE as usize, libc::PROT_READ, libc::MAP_SHARED, event, 0) };
        (address != libc::MAP_FAILED).then(|| NonNull::new(address.cast()).map(Mapping))?
    }

    /// The page, which the kernel changes at any time.
    #[inline(always)]
    pub fn page(&self) -> &Page {
        // SAFETY: mapped as long as `self` lives, aligned to a page; all fields are atomics.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length.
        unsafe { libc::munmap(self.0.as_ptr().cast(), PAGE as usize) };
    }
}

/// Ticks per second as the kernel has them, from the page of an event that counts nothing (perf_event_open(2),
/// time_mult and time_shift: ns = ticks * mult >> shift). Known to some 1e-9, as far as the kernel's own measurement
/// goes.
pub fn hz_of_kernel() -> Option<u64> {
    let flags = flag::DISABLED | flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR;
    let event = perf::open(&Attributes { flags, ..Attributes::new(perf::SOFTWARE, perf::DUMMY) }, None, 0).ok()?;
    let mapping = Mapping::new(event);
    descriptor::close(event);
    let mapping = mapping?;
    let page = mapping.page();
    let known = page.capabilities.load(Ordering::Relaxed) & capability::TIME != 0;
    let (mult, shift) = (page.time_mult.load(Ordering::Relaxed), page.time_shift.load(Ordering::Relaxed));
    (known && mult != 0 && shift < 64).then(|| (1e9 * (1u64 << shift) as f64 / f64::from(mult)).round() as u64)
}
