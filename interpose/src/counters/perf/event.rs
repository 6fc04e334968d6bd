//! An event as the kernel is asked for it.

use mpitrace_platform::perf::{CONTEXT_SWITCHES, CPU_MIGRATIONS, SOFTWARE};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// A type of [`mpitrace_platform::perf`].
    pub kind: u32,
    /// Which one of its type.
    pub config: u64,
    pub user: bool,
    pub kernel: bool,
}

impl Encoding {
    /// All of it happens in the kernel, so that without the kernel it opens well and stays 0: a switch and a
    /// migration are counted with the registers of the scheduler.
    pub fn is_of_kernel_only(&self) -> bool {
        self.kind == SOFTWARE && matches!(self.config, CONTEXT_SWITCHES | CPU_MIGRATIONS)
    }
}

/// An event that was asked for: a count, or two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The name as the user writes it.
    pub name: String,
    /// `ns` or `events`.
    pub unit: &'static str,
    pub first: Encoding,
    /// A second count, and whether it is taken off the first; else it is added.
    pub second: Option<(Encoding, bool)>,
}

impl Event {
    pub fn is_hardware(&self) -> bool {
        self.first.kind != SOFTWARE
    }

    /// The counts that make its value: one or two.
    pub fn encodings(&self) -> impl Iterator<Item = Encoding> {
        std::iter::once(self.first).chain(self.second.map(|(second, _)| second))
    }
}
