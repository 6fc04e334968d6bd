//! An event as the kernel is asked for it.

use super::perf::{CONTEXT_SWITCHES, CPU_MIGRATIONS, SOFTWARE};

/// The numbers by which the kernel knows a count, and what it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// A type of [`crate::perf`].
    pub kind: u32,
    /// Which one of its type.
    pub config: u64,
    /// The program is counted.
    pub user: bool,
    /// The kernel is counted.
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
    /// The count, or the first of two.
    pub first: Encoding,
    /// A second count, and whether it is taken off the first; else it is added.
    pub second: Option<(Encoding, bool)>,
}

impl Event {
    /// True if a counter of the processor counts it, and not the kernel.
    pub fn is_hardware(&self) -> bool {
        self.first.kind != SOFTWARE
    }

    /// The counts that make its value: one or two.
    pub fn encodings(&self) -> impl Iterator<Item = Encoding> {
        std::iter::once(self.first).chain(self.second.map(|(second, _)| second))
    }
}
