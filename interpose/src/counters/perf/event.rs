//! An event as the kernel is asked for it.

use mpitrace_platform::perf::{CONTEXT_SWITCHES, CPU_MIGRATIONS, SOFTWARE};

/// What the kernel is to count, and while whose code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// A type of [`mpitrace_platform::perf`].
    pub kind: u32,
    /// Which one of its type.
    pub config: u64,
    /// Counts while the program runs.
    pub user: bool,
    /// Counts while the kernel works for the program.
    pub kernel: bool,
}

impl Encoding {
    /// Whether all of it happens in the kernel, so that without the kernel it opens well and stays 0: a switch and a
    /// migration are counted with the registers of the scheduler.
    pub fn is_of_kernel_only(&self) -> bool {
        self.kind == SOFTWARE && matches!(self.config, CONTEXT_SWITCHES | CPU_MIGRATIONS)
    }
}

/// One or two encodings, and how they make a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    /// The count itself.
    Count(Encoding),
    /// The first and the second.
    Sum(Encoding, Encoding),
    /// The first without the second.
    Difference(Encoding, Encoding),
}

/// An event that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// As the user writes it.
    pub name: String,
    /// `ns` or `events`.
    pub unit: &'static str,
    /// What is counted.
    pub formula: Formula,
}

impl Event {
    /// Whether a counter of the processor counts it; else the kernel does.
    pub fn is_hardware(&self) -> bool {
        self.encodings().next().is_some_and(|encoding| encoding.kind != SOFTWARE)
    }

    /// What has to be counted for it: one or two.
    pub fn encodings(&self) -> impl Iterator<Item = Encoding> {
        let (first, second) = match self.formula {
            Formula::Count(first) => (first, None),
            Formula::Sum(first, second) | Formula::Difference(first, second) => (first, Some(second)),
        };
        std::iter::once(first).chain(second)
    }
}
