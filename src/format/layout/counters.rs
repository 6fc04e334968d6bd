//! The table of counters.

use bytemuck::{Pod, Zeroable};

/// One counter that was asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct CounterEntry {
    /// The count that came together over the whole run, in the calls that were kept and outside of them.
    pub total: u64,
    /// The counter's name, a [`crate::strings`] reference.
    pub name: u32,
    /// The unit that it counts in, a reference.
    pub unit: u32,
    /// One of [`counter_source`].
    pub source: u32,
    /// 1 + the number of its column ([`super::counter_column`]); 0: it has none, since it could not be had.
    pub column: u32,
    /// Why it could not be had, a reference; 0: it could.
    pub reason: u32,
    /// Bits of [`counter_flags`].
    pub flags: u32,
    /// For later versions.
    pub reserved: [u64; 4],
}

/// Where the values of a counter come from: values of [`CounterEntry::source`].
pub mod counter_source {
    /// Point-to-point and one-sided calls, counted by the tracer: a value is what came together since the call before.
    pub const MESSAGES: u32 = 0;
    /// A counter of the processor, by perf_event: the difference over the call, on its thread.
    pub const HARDWARE: u32 = 1;
    /// A counter of the kernel, by perf_event: the same.
    pub const SOFTWARE: u32 = 2;
    /// A performance variable of the MPI library (MPI_T): the difference over the call, or with
    /// [`super::counter_flags::LEVEL`] its value after it.
    pub const VARIABLE: u32 = 3;
    /// A counter that code inside the stack adds to (`mpitrace_add`): what its thread added during the call or region.
    pub const INNER: u32 = 4;
    /// A timer of such code (`mpitrace_timer_start`), ns: what its thread spent between start and stop during the call
    /// or region.
    pub const TIMER: u32 = 5;
}

/// The end of the name of a counter's second column.
pub const BEFORE: &str = "-before";

/// Bits of [`CounterEntry::flags`].
pub mod counter_flags {
    /// A value is what the counter stood at after the call, not what the call added.
    pub const LEVEL: u32 = 1;
    /// The event shared its counter with others, and values are scaled up by the share of time that it ran.
    pub const SCALED: u32 = 2;
    /// A value is what came together between the thread's previous recorded call and this one, or of a level what it
    /// was before this call: the second column of the counter that has the name without [`super::BEFORE`].
    pub const BEFORE: u32 = 4;
}
