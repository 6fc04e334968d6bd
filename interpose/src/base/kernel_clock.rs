//! How fast the processor's clock runs, as the kernel has measured it.

use std::sync::atomic::Ordering;

use mpitrace_platform::perf::{self, Attributes, MappedPage, flag};

use crate::base::event_page::{self, capability};
use crate::base::system::descriptor;

/// Ticks per second as the kernel has them, from the page of an event that counts nothing (perf_event_open(2),
/// time_mult and time_shift: ns = ticks * mult >> shift). Known to some 1e-9, as far as the kernel's own measurement
/// goes.
pub fn hz_of_kernel() -> Option<u64> {
    let flags = flag::DISABLED | flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR;
    let event = perf::open(&Attributes { flags, ..Attributes::new(perf::SOFTWARE, perf::DUMMY) }, None, 0).ok()?;
    let mapping = MappedPage::new(event);
    descriptor::close(event);
    let mapping = mapping.ok()?;
    let page = event_page::fields(&mapping);
    let known = page.capabilities.load(Ordering::Relaxed) & capability::TIME != 0;
    let (mult, shift) = (page.time_mult.load(Ordering::Relaxed), page.time_shift.load(Ordering::Relaxed));
    (known && mult != 0 && shift < 64).then(|| (1e9 * (1u64 << shift) as f64 / f64::from(mult)).round() as u64)
}
