//! The clock of this machine, and its quality.

use std::collections::BTreeMap;

use mpitrace_job::mpi::stamp::{self, Source};
use mpitrace_platform::tsc;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Clock {
    pub source: Source,
    /// The flags of the processor that make its time stamp counter one clock; empty where the processor is no x86.
    pub flags: BTreeMap<&'static str, bool>,
}

impl Clock {
    pub fn of_machine() -> Clock {
        let flags = if cfg!(target_arch = "x86_64") { &tsc::FLAGS[..] } else { &[] };
        let known = tsc::processor_flags();
        Clock {
            source: stamp::source(),
            flags: flags.iter().map(|&flag| (flag, known.iter().any(|known| known == flag))).collect(),
        }
    }
}
