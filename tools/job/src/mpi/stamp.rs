//! Time stamps as the tracer takes them.

use std::hint::black_box;
use std::time::Instant;

use mpitrace_platform::tsc;
use serde::Serialize;

/// The counter that time stamps are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// x86's time stamp counter.
    Tsc,
    /// Arm's virtual counter.
    Cntvct,
    /// The system's clock, where the processor's counter cannot be trusted.
    MonotonicRaw,
}

/// The counter that the tracer reads on this processor.
pub fn source() -> Source {
    if cfg!(target_arch = "aarch64") {
        return Source::Cntvct;
    }
    if tsc::is_trusted() { Source::Tsc } else { Source::MonotonicRaw }
}

/// The time of two stamps, ns: the mean of so many pairs, with nothing between them.
pub fn pair_ns(source: Source, pairs: u32) -> f64 {
    match source {
        #[cfg(target_arch = "x86_64")]
        Source::Tsc => mean_of_pairs(pairs, || {
            let mut processor = 0;
            // SAFETY: `source` has checked that the processor has the instruction.
            unsafe { core::arch::x86_64::__rdtscp(&raw mut processor) }
        }),
        #[cfg(target_arch = "aarch64")]
        Source::Cntvct => mean_of_pairs(pairs, || {
            let ticks;
            // SAFETY: reads a counter that user space may read.
            unsafe { core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack)) };
            ticks
        }),
        _ => mean_of_pairs(pairs, || {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: `time` outlives the call.
            unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut time) };
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
        }),
    }
}

/// The source is chosen outside of the loop: a bare time stamp has no branch.
#[inline(always)]
fn mean_of_pairs(pairs: u32, stamp: impl Fn() -> u64) -> f64 {
    let mut sum = 0u64;
    let started = Instant::now();
    for _ in 0..pairs {
        let first = stamp();
        sum = sum.wrapping_add(stamp().wrapping_sub(first));
    }
    black_box(sum);
    started.elapsed().as_nanos() as f64 / f64::from(pairs)
}
