//! The tick counter of a rank, and readings of it beside the system's clocks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mpitrace_format::layout::{Anchor, clock_source};
use mpitrace_format::live::now::anchor_by;
use mpitrace_platform::time::sleep;
use mpitrace_platform::tsc;

use crate::base::processor;
use crate::base::system::nanoseconds;

/// Set at Init where the cycle counter cannot be trusted: CLOCK_MONOTONIC_RAW is read instead.
static SYSTEM_CLOCK: AtomicBool = AtomicBool::new(false);

/// The counter now, in order: whatever the program text has before is done, as far as this thread can tell.
///
/// `rdtscp` waits for all earlier loads; two of them take 35 ns on a machine where two plain `rdtsc` take 19 and two
/// clock_gettime 43. A plain `rdtsc` may be executed before the end of the call that it is meant to follow.
#[inline(always)]
pub fn now() -> u64 {
    if SYSTEM_CLOCK.load(Ordering::Relaxed) {
        return nanoseconds(libc::CLOCK_MONOTONIC_RAW);
    }
    processor::ticks_in_order()
}

pub fn are_of_the_system() -> bool {
    SYSTEM_CLOCK.load(Ordering::Relaxed)
}

/// Decides which counter this process reads; one of [`clock_source`].
pub fn choose_source() -> u32 {
    if cfg!(target_arch = "aarch64") {
        return clock_source::CNTVCT;
    }
    if tsc::is_trusted() {
        return clock_source::TSC;
    }
    SYSTEM_CLOCK.store(true, Ordering::Relaxed);
    clock_source::MONOTONIC_RAW
}

/// Ticks per second as the machine states them: the processor, the hypervisor, or the kernel that has measured them for
/// long; 0 where none does.
pub fn nominal_hz() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::__cpuid_count;
        let highest = __cpuid_count(0, 0).eax;
        if highest >= 0x15 {
            // TSC / crystal = ebx / eax, the crystal's Hz in ecx (Intel SDM, CPUID leaf 15H).
            let leaf = __cpuid_count(0x15, 0);
            if leaf.eax != 0 && leaf.ebx != 0 && leaf.ecx != 0 {
                return u64::from(leaf.ecx) * u64::from(leaf.ebx) / u64::from(leaf.eax);
            }
        }
        let hypervisor = __cpuid_count(1, 0).ecx & (1 << 31) != 0;
        if hypervisor && __cpuid_count(0x4000_0000, 0).eax >= 0x4000_0010 {
            // The timing leaf of VMware, which KVM and others follow: TSC in kHz.
            let khz = __cpuid_count(0x4000_0010, 0).eax;
            if khz != 0 {
                return u64::from(khz) * 1000;
            }
        }
        hz_of_kernel().unwrap_or(0)
    }
    #[cfg(target_arch = "aarch64")]
    {
        processor::hz()
    }
}

/// Ticks per second as the kernel has them, from the page of an event that counts nothing (perf_event_open(2),
/// time_mult and time_shift: ns = ticks * mult >> shift). Known to some 1e-9, as far as the kernel's own measurement
/// goes.
#[cfg(target_arch = "x86_64")]
fn hz_of_kernel() -> Option<u64> {
    use crate::base::event_page::{self, capability};

    let event = mpitrace_platform::interruptions::EventPage::open().ok()?;
    let page = event_page::fields(&event.0);
    let known = page.capabilities.load(Ordering::Relaxed) & capability::TIME != 0;
    let (mult, shift) = (page.time_mult.load(Ordering::Relaxed), page.time_shift.load(Ordering::Relaxed));
    (known && mult != 0 && shift < 64).then(|| (1e9 * (1u64 << shift) as f64 / f64::from(mult)).round() as u64)
}

/// The first reading of the clocks, before MPI is initialised.
pub fn first_anchor() -> Anchor {
    static FIRST: OnceLock<Anchor> = OnceLock::new();
    *FIRST.get_or_init(anchor)
}

/// Ticks per second, known to 100 ppm at least.
pub fn roughly_hz() -> f64 {
    /// Two readings that are so far apart, ns, say it that exactly.
    const FAR: u64 = 2_000_000;
    static MEASURED: OnceLock<f64> = OnceLock::new();
    match nominal_hz() {
        0 => *MEASURED.get_or_init(|| {
            let before = first_anchor();
            let passed = nanoseconds(libc::CLOCK_MONOTONIC_RAW).wrapping_sub(before.raw_ns);
            sleep(std::time::Duration::from_nanos(FAR.saturating_sub(passed)));
            let after = anchor();
            (after.tick - before.tick) as f64 * 1e9 / (after.raw_ns - before.raw_ns).max(1) as f64
        }),
        hz => hz as f64,
    }
}

/// So many ticks in ns, at [`roughly_hz`].
pub fn nanoseconds_of(ticks: u64) -> u64 {
    static PERIOD: OnceLock<f64> = OnceLock::new();
    (ticks as f64 * PERIOD.get_or_init(|| 1e9 / roughly_hz())).round() as u64
}

/// Reads the counter and the system's clocks together.
pub fn anchor() -> Anchor {
    anchor_by(now)
}
