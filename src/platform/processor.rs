//! The processor's own instructions that the tracer is made of: time stamp counters, performance counters, the stack
//! pointer.

/// The tick counter, in order: whatever the program text has before is done, as far as this thread can tell.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn ticks_in_order() -> u64 {
    let mut processor = 0;
    // SAFETY: every x86-64 processor with an invariant TSC has rdtscp; `ticks::choose_source` has checked the flags.
    unsafe { core::arch::x86_64::__rdtscp(&raw mut processor) }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn ticks_in_order() -> u64 {
    let ticks;
    // SAFETY: reads a counter that user space may read; `isb` orders it behind what came before.
    unsafe { core::arch::asm!("isb", "mrs {}, cntvct_el0", out(reg) ticks, options(nostack)) };
    ticks
}

/// Ticks per second of [`ticks_in_order`], as the processor has them in a register.
#[cfg(target_arch = "aarch64")]
pub fn hz() -> u64 {
    let hz: u64;
    // SAFETY: reads a register that user space may read.
    unsafe { core::arch::asm!("mrs {}, cntfrq_el0", out(reg) hz, options(nostack, nomem)) };
    hz
}

/// The stack address of the caller's frame, as far as comparing frames of one stack needs it.
#[inline(always)]
pub fn frame() -> usize {
    let here: usize;
    // SAFETY: copies the stack pointer.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("mov {}, rsp", out(reg) here, options(nomem, nostack, preserves_flags))
    };
    // SAFETY: copies the stack pointer.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("mov {}, sp", out(reg) here, options(nomem, nostack, preserves_flags))
    };
    here
}

/// Where the last frame record of this thread lies, as far as the code that runs keeps them.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn frame_record() -> usize {
    let record: usize;
    // SAFETY: copies the frame pointer.
    unsafe { core::arch::asm!("mov {}, x29", out(reg) record, options(nomem, nostack, preserves_flags)) };
    record
}

/// The performance counter of this number, which a page of perf_event with `cap_user_rdpmc` has named; `None`: there is
/// no instruction for it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn performance_counter(number: u32) -> Option<u64> {
    let (low, high): (u32, u32);
    // SAFETY: it is executed only for a page with cap_user_rdpmc, as long as that is mapped: then the kernel lets this
    // process execute it for any number of a counter that the page can name.
    unsafe {
        core::arch::asm!("rdpmc", in("ecx") number, out("eax") low, out("edx") high, options(nostack, preserves_flags))
    };
    Some(u64::from(high) << 32 | u64::from(low))
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn performance_counter(number: u32) -> Option<u64> {
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
                    // SAFETY: PMUSERENR_EL0 allows the cycle counter together with the others.
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
