//! The facts that are known of one rank: its process, its MPI library and its clock.

use bytemuck::{Pod, Zeroable};

/// [`RankHeader::rank`] before `MPI_Init` has returned.
pub const NO_RANK: u32 = u32::MAX;

/// One pair of readings, taken as close together as could be, of the rank's tick counter and two system clocks.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Anchor {
    /// Ticks of the rank's counter.
    pub tick: u64,
    /// CLOCK_MONOTONIC_RAW, ns.
    pub raw_ns: u64,
    /// CLOCK_REALTIME, ns since 1970.
    pub realtime_ns: u64,
    /// How many ticks lay between the readings before and after: the uncertainty of the pair.
    pub width: u64,
}

/// Which counter the ticks of a rank come from: values of [`RankHeader::clock_source`].
pub mod clock_source {
    /// `rdtscp` of an invariant TSC.
    pub const TSC: u32 = 0;
    /// `cntvct_el0`.
    pub const CNTVCT: u32 = 1;
    /// CLOCK_MONOTONIC_RAW in ns, where the TSC cannot be trusted.
    pub const MONOTONIC_RAW: u32 = 2;
}

/// How far a rank got: values of [`RankHeader::state`].
pub mod state {
    /// `MPI_Init` was entered and has not returned.
    pub const STARTING: u32 = 0;
    /// Between Init and Finalize.
    pub const RUNNING: u32 = 1;
    /// `MPI_Finalize` was called, and the rank's records are whole.
    pub const FINALIZED: u32 = 2;
    /// `MPI_Abort` was called on this rank, which does not return.
    pub const ABORTED: u32 = 3;
    /// `MPI_Finalize` was entered: the rank waits for the others there.
    pub const FINALIZING: u32 = 4;
    /// In a session, and not between Init and Finalize.
    pub const SESSION: u32 = 5;
    /// `MPI_Finalize` was called; the rank had recorded nothing any more since memory could not be had.
    pub const OUT_OF_MEMORY: u32 = 6;
}

/// The records that a rank keeps: values of [`RankHeader::keeps`].
pub mod keeps {
    /// All records: full chunks are packed and written to a file, [`crate::block_file`].
    pub const ALL: u32 = 0;
    /// The records of the same repetitions on all ranks (`MPITRACE_KEEP=account`, or from some time on
    /// `MPITRACE_OUTPUT_MAX`): those of a [`super::super::level`] that rises as the arrays are filled.
    pub const SAMPLE: u32 = 2;
}

/// The application binary interface of the MPI library: values of [`RankHeader::abi`].
pub mod abi {
    /// Open MPI.
    pub const OPENMPI: u32 = 0;
    /// MPICH, Intel MPI, MVAPICH, Cray MPI.
    pub const MPICH: u32 = 1;
    /// The standard ABI of MPI 5.
    pub const STANDARD: u32 = 2;
}

/// The facts that are known of one rank; the first thing in a segment and in a part.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct RankHeader {
    /// A token that all ranks of one run share.
    pub job: [u8; 16],
    /// Identifies the running kernel (`/proc/sys/kernel/random/boot_id`); zeros if unknown.
    pub boot_id: [u8; 16],
    /// The rank in MPI_COMM_WORLD, or [`NO_RANK`].
    pub rank: u32,
    /// The size of MPI_COMM_WORLD.
    pub world_size: u32,
    /// The process.
    pub pid: u32,
    /// One of [`state`].
    pub state: u32,
    /// One of [`abi`].
    pub abi: u32,
    /// One of [`clock_source`].
    pub clock_source: u32,
    /// The records that are kept: one of [`keeps`].
    pub keeps: u32,
    /// How many columns a record has.
    pub columns: u32,
    /// `MPITRACE_CAPACITY`: the records that may be kept.
    pub capacity: u64,
    /// Ticks per second as the machine states them, 0 where it does not.
    pub nominal_hz: u64,
    /// Taken when `MPI_Init` was entered.
    pub first_anchor: Anchor,
    /// Taken last: at Finalize, or when a chunk of the arrays was drawn.
    pub last_anchor: Anchor,
    /// World rank of the leader of the ranks that share this one's clock; [`NO_RANK`]: not found out.
    pub leader: u32,
    /// The leader's number among the leaders.
    pub domain: u32,
    /// How clocks were synchronised: `mpitrace_synchronise::Method::number`.
    pub clock_method: u32,
    /// The simulated clock of this rank (`MPITRACE_TEST_CLOCK`), a [`crate::strings`] reference; 0: the true one. The
    /// records of a live segment are in true ticks, those of a part in simulated ones.
    pub pretended: u32,
    /// The true tick at which simulated clocks begin.
    pub pretended_epoch: u64,
    /// Ticks per second that they go by.
    pub pretended_hz: f64,
    /// By how much two clocks of the domain can differ at most without it having shown when they were tested against
    /// each other, ticks; 0: not tested.
    pub domain_error: u64,
    /// The largest step back from one rank's clock to another's that was seen then, ticks.
    pub domain_step: u64,
    /// No clock is faster than another by more, ppm.
    pub max_ppm: f32,
    /// No clock's rate changes faster, ppb per second.
    pub wander_ppb: f32,
    /// Ticks per second as they were measured within a few ms of Init, to some 100 ppm; 0: not measured.
    pub measured_hz: f64,
}
