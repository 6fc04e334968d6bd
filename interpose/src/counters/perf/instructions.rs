//! The processor's own instructions for [`crate::counters::perf::page`].

use crate::counters::perf::page::Instructions;

/// The processor that the thread runs on.
pub struct Processor;

#[cfg(target_arch = "x86_64")]
impl Instructions for Processor {
    #[inline(always)]
    fn counter(&self, number: u32) -> Option<u64> {
        let (low, high): (u32, u32);
        // SAFETY: it is executed only for a page with cap_user_rdpmc, as long as that is mapped: then the kernel lets this
        // process execute it for any number of a counter that the page can name.
        unsafe {
            core::arch::asm!("rdpmc", in("ecx") number, out("eax") low, out("edx") high, options(nostack, preserves_flags))
        };
        Some(u64::from(high) << 32 | u64::from(low))
    }

    #[inline(always)]
    fn ticks(&self) -> u64 {
        // SAFETY: every x86-64 processor has it, and the page says that the kernel's time is made of it.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
}

#[cfg(target_arch = "aarch64")]
impl Instructions for Processor {
    #[inline(always)]
    fn counter(&self, number: u32) -> Option<u64> {
        /// The number of the cycle counter, in the kernel and in the registers (`ARMV8_PMU_CYCLE_IDX`).
        const CYCLES: u32 = 31;
        macro_rules! among {
            ($($event:literal)*) => {
                match number {
                    $($event => {
                        let count: u64;
                        // SAFETY: it is executed only for a page with cap_user_rdpmc, as long as that is mapped: then
                        // PMUSERENR_EL0 allows it.
                        unsafe {
                            core::arch::asm!(
                                concat!("mrs {}, pmevcntr", $event, "_el0"),
                                out(reg) count, options(nostack, preserves_flags)
                            )
                        };
                        Some(count)
                    })*
                    CYCLES => {
                        let count: u64;
                        // SAFETY: as above.
                        unsafe {
                            core::arch::asm!("mrs {}, pmccntr_el0", out(reg) count, options(nostack, preserves_flags))
                        };
                        Some(count)
                    }
                    _ => None,
                }
            };
        }
        among!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)
    }

    #[inline(always)]
    fn ticks(&self) -> u64 {
        let ticks;
        // SAFETY: reads a counter that user space may read.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nostack, preserves_flags)) };
        ticks
    }
}

/// Elsewhere no page is read.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl Instructions for Processor {
    fn counter(&self, _: u32) -> Option<u64> {
        None
    }

    fn ticks(&self) -> u64 {
        0
    }
}
