//! The presets of PAPI, expressed in the generic events of the kernel where that can be done.
//!
//! They are those of table 4.1 of Roth's thesis. PAPI counts the program and not the
//! kernel unless it is told otherwise (`PAPI_DOM_USER`), so a preset does the same.

/// How a preset is expressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// One event.
    Is(&'static str),
    /// It is the first on Intel's processors, and elsewhere the second: the generic events of caches count the last
    /// level there, the second level on AMD Zen (PMCx064) and the first on Arm (L1D_CACHE_REFILL).
    LastLevel(&'static str, &'static str),
    /// Both together.
    Sum(&'static str, &'static str),
    /// The first without the second.
    Difference(&'static str, &'static str),
    /// No generic event counts it; these raw codes do.
    Raw(&'static str),
}

use Preset::{Difference, Is, LastLevel, Raw, Sum};

/// The presets by name.
///
/// `branch-misses` and `branch-instructions` count all branches, also those that PAPI's "conditional" leaves out. The
/// raw codes: Intel's L2_RQSTS (event 24H) from Skylake on, AMD's L2_CACHE_REQ_STAT (PMCx064) of the Zen family,
/// L2D_CACHE_REFILL of the Arm architecture's common events.
pub const PRESETS: [(&str, Preset); 9] = [
    ("PAPI_L1_TCM", Sum("L1-dcache-load-misses", "L1-icache-load-misses")),
    ("PAPI_L2_TCM", Raw("r3f24 on Intel since Skylake, r964 on AMD Zen, r17 on Arm (data and unified)")),
    ("PAPI_L3_TCM", LastLevel("cache-misses", "LLC-load-misses")),
    ("PAPI_L1_ICM", Is("L1-icache-load-misses")),
    ("PAPI_L2_ICM", Raw("r2424 on Intel since Skylake, r164 on AMD Zen")),
    ("PAPI_L1_DCM", Is("L1-dcache-load-misses")),
    ("PAPI_L2_DCM", Raw("r2124 on Intel since Skylake (demand reads), r864 on AMD Zen, r17 on Arm")),
    ("PAPI_BR_MSP", Is("branch-misses")),
    ("PAPI_BR_PRC", Difference("branch-instructions", "branch-misses")),
];

/// True on a processor of Intel.
pub fn is_intel() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let vendor = core::arch::x86_64::__cpuid(0);
        [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == b"GenuineIntel"
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}
