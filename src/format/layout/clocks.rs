//! The data that the synchronisation of clocks leaves.

use bytemuck::{Pod, Zeroable};

use crate::ticks::AffineMap;

/// One synchronisation, as the leader of a clock domain has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct SyncEntry {
    /// Its number within the run, from 0.
    pub index: u32,
    /// One of [`sync_kind`].
    pub kind: u32,
    /// 1: `map` is what the method has found; 0: it finds it after the run.
    pub has_map: u32,
    /// For later versions.
    pub padding: u32,
    /// Ticks of the leader's clock when it began.
    pub begin: u64,
    /// Ticks when it ended.
    pub end: u64,
    /// From the leader's clock to the reference domain's.
    pub map: AffineMap,
    /// For later versions.
    pub reserved: u64,
}

/// Values of [`SyncEntry::kind`].
pub mod sync_kind {
    /// In MPI_Init.
    pub const INIT: u32 = 0;
    /// After a call, while the program runs.
    pub const RUNNING: u32 = 1;
    /// In MPI_Finalize.
    pub const FINALIZE: u32 = 2;
}

/// The result of a synchronisation for one pair of leaders, kept by one of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ProbeEntry {
    /// [`SyncEntry::index`].
    pub sync: u32,
    /// The other leader's number among the leaders.
    pub peer: u32,
    /// The least that the other clock can have been ahead of this one, ticks...
    pub lower: i64,
    /// ... at this tick of this clock.
    pub lower_at: u64,
    /// The most that it can have been ahead...
    pub upper: i64,
    /// ... at this tick.
    pub upper_at: u64,
    /// The shortest exchange, ticks.
    pub least_round_trip: u32,
    /// By how much the quicker half of the exchanges took longer on average, ticks.
    pub spread: u32,
    /// Exchanges.
    pub exchanges: u32,
    /// For later versions.
    pub reserved: [u32; 3],
}
