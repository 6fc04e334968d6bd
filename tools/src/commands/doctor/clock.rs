//! The clock of this machine, and its quality.

use std::collections::BTreeMap;

use mpitrace_platform::tsc;
use serde::Serialize;

use crate::mpi::stamp::{self, Source};

/// The clock.
#[derive(Debug, Serialize)]
pub struct Clock {
    /// The clock that the tracer reads.
    pub source: Source,
    /// The flags of the processor that make its time stamp counter one clock; empty where the processor is no x86.
    pub flags: BTreeMap<&'static str, bool>,
    /// The clock source of the kernel.
    pub clocksource: Option<String>,
    /// The sources that it offers; a time stamp counter that it found unstable is not among them.
    pub available: Vec<String>,
    /// The same on all ranks that can have one clock.
    pub boot_id: Option<String>,
}

impl Clock {
    /// That of this machine.
    pub fn of_machine() -> Clock {
        let read = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let flags = if cfg!(target_arch = "x86_64") { &tsc::FLAGS[..] } else { &[] };
        let known = tsc::processor_flags();
        Clock {
            source: stamp::source(),
            flags: flags.iter().map(|&flag| (flag, known.iter().any(|known| known == flag))).collect(),
            clocksource: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            available: tsc::available_sources(),
            boot_id: read("/proc/sys/kernel/random/boot_id"),
        }
    }
}
