//! The present, as the clock of a rank on this machine has it.

use mpitrace_platform::ticks;

use crate::layout::{Anchor, clock_source};

/// The counter of a rank of this machine, one of [`clock_source`], and the system's clocks together.
///
/// ```
/// use mpitrace_format::layout::clock_source;
/// use mpitrace_format::live::now::anchor;
///
/// let now = anchor(clock_source::MONOTONIC_RAW);
/// // The counter is the clock that it is read with.
/// assert!(now.tick.abs_diff(now.raw_ns) <= now.width);
/// ```
pub fn anchor(source: u32) -> Anchor {
    anchor_by(|| match source {
        clock_source::MONOTONIC_RAW => nanoseconds(libc::CLOCK_MONOTONIC_RAW),
        _ => ticks::now(),
    })
}

/// A counter and the system's clocks together: of 16 tries the one that took the fewest ticks.
///
/// ```
/// use mpitrace_format::live::now::{anchor_by, nanoseconds};
///
/// let now = anchor_by(|| nanoseconds(libc::CLOCK_MONOTONIC_RAW));
/// assert!(now.raw_ns > 0 && now.realtime_ns > 0);
/// ```
pub fn anchor_by(now: impl Fn() -> u64) -> Anchor {
    let mut best = Anchor { width: u64::MAX, ..Anchor::default() };
    for _ in 0..16 {
        let before = now();
        let raw_ns = nanoseconds(libc::CLOCK_MONOTONIC_RAW);
        let width = now().wrapping_sub(before);
        if width < best.width {
            best = Anchor { tick: before.wrapping_add(width / 2), raw_ns, realtime_ns: 0, width };
        }
    }
    let since = nanoseconds(libc::CLOCK_MONOTONIC_RAW).wrapping_sub(best.raw_ns);
    best.realtime_ns = nanoseconds(libc::CLOCK_REALTIME).wrapping_sub(since);
    best
}

/// A clock of the system, ns.
///
/// ```
/// use mpitrace_format::live::now::nanoseconds;
///
/// let before = nanoseconds(libc::CLOCK_MONOTONIC_RAW);
/// assert!(nanoseconds(libc::CLOCK_MONOTONIC_RAW) >= before);
/// ```
#[inline(always)]
pub fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call. A clock that the kernel does not know leaves 0.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_clock_is_read_in_nanoseconds() {
        let by_std = || SystemTime::UNIX_EPOCH.elapsed().expect("a time behind 1970").as_nanos() as u64;
        let (before, here, after) = (by_std(), nanoseconds(libc::CLOCK_REALTIME), by_std());
        assert!((before..=after).contains(&here), "{before} {here} {after}");
    }
}
