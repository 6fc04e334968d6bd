//! The tick counters that ranks stamp their calls with, read by another process of the same machine.

/// The counter now.
#[cfg(target_arch = "x86_64")]
pub fn now() -> u64 {
    // SAFETY: every x86-64 processor has rdtsc. Where the kernel forbids it to user space no rank has TSC for a clock,
    // and no reader asks.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The counter now.
#[cfg(target_arch = "aarch64")]
pub fn now() -> u64 {
    let ticks;
    // SAFETY: reads a counter that user space may read; `isb` orders it behind what came before.
    unsafe { core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack)) };
    ticks
}
