//! The present, as the clock of a rank on this machine has it.

use mpitrace_platform::ticks;

use crate::layout::{Anchor, clock_source};

/// The rank's counter and the system's clocks together: of 16 tries the one that took the fewest ticks. `None`: this
/// machine does not have the counter.
pub fn anchor(source: u32) -> Option<Anchor> {
    let now = || match source {
        clock_source::MONOTONIC_RAW => Some(nanoseconds(libc::CLOCK_MONOTONIC_RAW)),
        _ => ticks::now(),
    };
    let mut best = Anchor { width: u64::MAX, ..Anchor::default() };
    for _ in 0..16 {
        let before = now()?;
        let raw_ns = nanoseconds(libc::CLOCK_MONOTONIC_RAW);
        let width = now()?.wrapping_sub(before);
        if width < best.width {
            best = Anchor { tick: before.wrapping_add(width / 2), raw_ns, realtime_ns: 0, width };
        }
    }
    best.realtime_ns = nanoseconds(libc::CLOCK_REALTIME);
    Some(best)
}

/// A clock of the system, ns.
#[inline(always)]
pub fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call. A clock that the kernel does not know leaves 0.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
