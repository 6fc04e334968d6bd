//! Time stamps as the tracer takes them.

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;

/// What the tracer reads.
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

/// Flags of the processor without which its time stamp counter is not one clock, and rdtscp not there.
pub const FLAGS: [&str; 3] = ["constant_tsc", "nonstop_tsc", "rdtscp"];

/// What the tracer reads on this machine, by the same rule as in interpose/src/ticks.rs: all flags, and a kernel that
/// has not found the counter unstable, which takes it off its list.
pub fn source() -> Source {
    if cfg!(target_arch = "aarch64") {
        return Source::Cntvct;
    }
    let available = available();
    let kept = available.is_empty() || available.iter().any(|name| name == "tsc");
    match cfg!(target_arch = "x86_64") && kept && FLAGS.iter().all(|flag| has(flag)) {
        true => Source::Tsc,
        false => Source::MonotonicRaw,
    }
}

/// The clock sources that the kernel offers.
pub fn available() -> Vec<String> {
    let list = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    list.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Whether the processor has the flag.
pub fn has(flag: &str) -> bool {
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = processors.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|word| word == flag))
}

/// What two time stamps take, ns: the mean of so many pairs, with nothing between them.
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
