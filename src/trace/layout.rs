//! The fixed structures of a live segment and of a trace file. All integers are little-endian.
//!
//! The structures are plain old data: they are stored by the preloaded library while the program runs and read in
//! place from a memory-mapped file. A field that a reader may take for 0 takes reserved
//! bytes; any other raises [`VERSION`].

use bytemuck::{Pod, Zeroable};

use crate::ticks::AffineMap;

/// The version of every structure here. A reader refuses a newer one.
pub const VERSION: u32 = 1;
/// Parts of a trace, and regions of a segment, start at multiples of this many bytes.
pub const PAGE: u64 = 4096;
/// Sections within a part start at multiples of this many bytes, so that each column can be used where it lies.
pub const SECTION_ALIGNMENT: u64 = 64;

/// First bytes of a trace file.
pub const FILE_MAGIC: [u8; 8] = *b"MPITRACE";
/// First bytes of a rank's part within a trace file.
pub const PART_MAGIC: [u8; 8] = *b"MPITPART";
/// First bytes of a live segment.
pub const SEGMENT_MAGIC: [u8; 8] = *b"MPITLIVE";
/// Reads back as this value on a little-endian machine only.
pub const BYTE_ORDER_MARK: u32 = 0x0102_0304;

/// [`OperationEntry::root`] of a function without a root.
pub const NO_ROOT: i32 = i32::MIN;
/// [`OperationEntry::root`] on the rank that passed `MPI_ROOT` (intercommunicators).
pub const THIS_IS_ROOT: i32 = -1;
/// [`OperationEntry::root`] on a rank that passed `MPI_PROC_NULL` (intercommunicators).
pub const BESIDE_ROOT: i32 = -2;
/// [`OperationEntry::bytes`] of an operation that could not be described yet, for example since its first call,
/// with a data type unknown to the tracer, has not returned.
pub const UNKNOWN_BYTES: u64 = u64::MAX;
/// [`RankHeader::rank`] before `MPI_Init` has returned.
pub const NO_RANK: u32 = u32::MAX;

/// Set in the operation column for a record whose call the tracer itself may have delayed.
pub const DISTURBED: u32 = 1 << 31;
/// The operation's number within the operation column.
pub const OPERATION_MASK: u32 = DISTURBED - 1;

/// The columns that every record has, in the order in which a stretch holds them.
pub const COLUMNS: [(&str, u32); 5] = [("enter", 8), ("exit", 8), ("position", 8), ("repetition", 8), ("operation", 4)];
/// A stretch holds this many records at most.
pub const MAX_STRETCH_RECORDS: u64 = 16384;
/// The columns of requests, present where the program made non-blocking calls; 0 for all others: ticks that starting took,
/// ticks spent in Test and in Wait calls for the request, and Test calls.
pub const REQUEST_COLUMNS: [(&str, u32); 4] = [("init", 8), ("test", 8), ("wait", 8), ("tests", 4)];
/// The name of the column of the `index`-th counter, of 8 bytes per record: [`CounterEntry`] has the counter's own.
pub fn counter_column(index: usize) -> String {
    format!("counter {index}")
}
/// The value of a counter in a call for which it could not be read.
pub const NO_VALUE: u64 = u64::MAX;
/// The columns with the true ticks of the entry and the exit, in traces with pretended clocks.
pub const TRUE_COLUMNS: [(&str, u32); 2] = [("true enter", 8), ("true exit", 8)];
/// The most counters and timers that code inside the stack can have: each has a column in every segment, without memory until it
/// is used.
pub const INNER_COUNTERS: usize = 32;
/// How many columns (counters included) a segment can describe.
pub const MAX_COLUMNS: usize = 64;

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
    /// The segment exists, `MPI_Init` has not returned.
    pub const STARTING: u32 = 0;
    /// Between Init and Finalize.
    pub const RUNNING: u32 = 1;
    /// `MPI_Finalize` was called.
    pub const FINALIZED: u32 = 2;
    /// `MPI_Abort` was called on this rank.
    pub const ABORTED: u32 = 3;
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

/// What is known of one rank; the first thing in a segment and in a part.
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
    /// 0: full arrays keep the first records (`stop`); 1: the last (`ring`).
    pub ring: u32,
    /// How many columns a record has.
    pub columns: u32,
    /// `MPITRACE_CAPACITY`: the records that may be kept.
    pub capacity: u64,
    /// Ticks per second as the machine states them, 0 where it does not.
    pub nominal_hz: u64,
    /// Taken when `MPI_Init` was entered.
    pub first_anchor: Anchor,
    /// Taken last: at Finalize, or when a stretch of the arrays was drawn.
    pub last_anchor: Anchor,
    /// World rank of the leader of the ranks that share this one's clock; [`NO_RANK`]: not found out.
    pub leader: u32,
    /// The leader's number among the leaders.
    pub domain: u32,
    /// How clocks were synchronised: [`crate::clock::Method::number`].
    pub clock_method: u32,
    /// The pretended clock of this rank (`MPITRACE_TEST_CLOCK`), a [`super::strings`] reference; 0: the true one. The records
    /// of a live segment are in true ticks, those of a part in pretended ones.
    pub pretended: u32,
    /// The true tick at which pretended clocks begin.
    pub pretended_epoch: u64,
    /// Ticks per second that they go by.
    pub pretended_hz: f64,
    /// By how much two clocks of the domain can differ at most without it having shown when they were tested against each
    /// other, ticks; 0: not tested.
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

/// One communicator as one rank knows it. A cache line, like all tables' entries: the counts of two communicators that two
/// threads use do not share one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct CommunicatorEntry {
    /// The same on all ranks of the communicator and on no other: a hash of how it came to be.
    pub key: [u64; 2],
    /// Collective calls begun on it by this rank, recorded or not; the next one's position.
    pub calls: u64,
    /// Ranks in it that are of this world (for an intercommunicator, in both groups): another world has a trace of its own.
    pub size: u32,
    /// This rank's rank in it.
    pub rank: u32,
    /// The name that the program gave it, a [`super::strings`] reference; 0: none.
    pub name: u32,
    /// Bits of [`communicator_flags`].
    pub flags: u32,
    /// Clocks are synchronised after the first blocking call with which `calls` has come this far; u64::MAX: never.
    pub sync_at: u64,
    /// For later versions.
    pub reserved: [u64; 2],
}

/// Bits of [`CommunicatorEntry::flags`].
pub mod communicator_flags {
    /// MPI_COMM_WORLD.
    pub const WORLD: u32 = 1;
    /// MPI_COMM_SELF.
    pub const SELF: u32 = 2;
    /// An intercommunicator.
    pub const INTER: u32 = 4;
    /// The key, size and rank are known.
    pub const IDENTIFIED: u32 = 8;
}

/// One operation as one rank sees it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct OperationEntry {
    /// Calls begun by this rank, recorded or not; the next one's repetition.
    pub calls: u64,
    /// This rank's message size in bytes, or [`UNKNOWN_BYTES`].
    pub bytes: u64,
    /// Index into this rank's communicators.
    pub communicator: u32,
    /// The root, or [`NO_ROOT`], [`THIS_IS_ROOT`], [`BESIDE_ROOT`].
    pub root: i32,
    /// The function's plain C name, a [`super::strings`] reference.
    pub function: u32,
    /// The data type's name, a reference; 0: the function has none.
    pub datatype: u32,
    /// The reduction operator's name, a reference; 0: the function has none.
    pub reduction: u32,
    /// The place in the program that calls it, where that is part of what makes an operation, a reference: the module's path, its
    /// build id in hexadecimal (empty: it has none) and the offset in it that the call returns to, with a space between.
    pub call_site: u32,
    /// For later versions.
    pub reserved: [u32; 6],
}

/// One thread of a rank.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ThreadEntry {
    /// The kernel's thread number.
    pub tid: u32,
    /// For later versions.
    pub padding: u32,
    /// Calls not kept because the program had paused recording.
    pub paused: u64,
    /// Calls that returned an error, which are not kept.
    pub failed: u64,
    /// Calls that could not even be counted, since a table had no room for their operation.
    pub untracked: u64,
    /// Those of the failed calls that keep their number among the calls of their communicator, since another rank's call may
    /// have been matched with them. 0 in traces of earlier versions, which took every such number back.
    pub failed_in_place: u64,
    /// For later versions.
    pub reserved: [u64; 3],
}

/// One counter that was asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct CounterEntry {
    /// What came together over the whole run, in the calls that were kept and outside of them.
    pub total: u64,
    /// The counter's name, a [`super::strings`] reference.
    pub name: u32,
    /// What it counts in, a reference.
    pub unit: u32,
    /// One of [`counter_source`].
    pub source: u32,
    /// 1 + the number of its column ([`counter_column`]); 0: it has none, since it could not be had.
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
    /// A performance variable of the MPI library (MPI_T): the difference over the call, or with [`super::counter_flags::LEVEL`]
    /// its value after it.
    pub const VARIABLE: u32 = 3;
    /// A counter that code inside the stack adds to (`mpitrace_add`): what its thread added during the call or region.
    pub const INNER: u32 = 4;
    /// A timer of such code (`mpitrace_timer_start`), ns: what its thread spent between start and stop during the call or region.
    pub const TIMER: u32 = 5;
}

/// Bits of [`CounterEntry::flags`].
pub mod counter_flags {
    /// A value is what the counter stood at after the call, not what the call added.
    pub const LEVEL: u32 = 1;
    /// The event shared its counter with others, and values are scaled up by the share of time that it ran.
    pub const SCALED: u32 = 2;
}

/// One synchronisation, as the leader of a clock domain has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct SyncEntry {
    /// The how-manieth of the run, from 0.
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

/// What a synchronisation has learnt of one pair of leaders, kept by one of them.
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

/// One stretch of a live segment's arrays.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct StretchEntry {
    /// The number of its draw, from 1; 0: never drawn. Under `ring` a stretch is drawn again.
    pub draw: u64,
    /// Index of the thread that fills it.
    pub thread: u32,
    /// Bits of [`stretch_flags`].
    pub flags: u32,
}

/// Bits of [`StretchEntry::flags`].
pub mod stretch_flags {
    /// The stretch lies in private memory, since the folder was full: lost with the process.
    pub const PRIVATE: u32 = 1;
    /// The columns behind those that every record has are in use; without it they count as 0 and are not read.
    pub const EXTENDED: u32 = 2;
    /// The columns of counters inside the stack are in use, as above.
    pub const INNER: u32 = 4;
}

/// A table in a live segment: where it lies, how many entries it can hold and how many it holds.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Region {
    /// Bytes from the start of the segment.
    pub offset: u64,
    /// Entries (bytes, for strings) that fit.
    pub capacity: u64,
    /// Entries (bytes, for strings) in use.
    pub used: u64,
}

/// A column of the records.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ColumnEntry {
    /// UTF-8, zero-padded.
    pub name: [u8; 32],
    /// Bytes per record.
    pub element_size: u32,
    /// Not 0: not every record uses it, and it has memory only in stretches with this one of [`stretch_flags`]. Such columns
    /// come last.
    pub on_demand: u32,
    /// Bytes from the start of a stretch.
    pub offset: u64,
}

/// The first page of a live segment.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct SegmentHeader {
    /// [`SEGMENT_MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// [`BYTE_ORDER_MARK`].
    pub byte_order: u32,
    /// What is known of the rank.
    pub rank: RankHeader,
    /// The string area.
    pub strings: Region,
    /// [`CommunicatorEntry`]s.
    pub communicators: Region,
    /// [`OperationEntry`]s.
    pub operations: Region,
    /// [`ThreadEntry`]s.
    pub threads: Region,
    /// [`CounterEntry`]s.
    pub counters: Region,
    /// [`SyncEntry`]s.
    pub syncs: Region,
    /// [`ProbeEntry`]s.
    pub probes: Region,
    /// [`StretchEntry`]s.
    pub stretches: Region,
    /// Where the first stretch lies, bytes from the start of the segment.
    pub records_offset: u64,
    /// Records per stretch.
    pub stretch_records: u64,
    /// Bytes per stretch.
    pub stretch_bytes: u64,
    /// String reference of the factors (postcard), 0 until they are known.
    pub factors: u32,
    /// For later versions.
    pub padding: u32,
    /// The first [`RankHeader::columns`] are in use.
    pub columns: [ColumnEntry; MAX_COLUMNS],
}

/// What a section of a part holds: values of [`SectionEntry::kind`].
pub mod section {
    /// Factors of the experiment: postcard of a list of (name, value).
    pub const FACTORS: u32 = 1;
    /// The string area.
    pub const STRINGS: u32 = 2;
    /// [`super::CommunicatorEntry`]s.
    pub const COMMUNICATORS: u32 = 3;
    /// [`super::OperationEntry`]s.
    pub const OPERATIONS: u32 = 4;
    /// [`super::ThreadEntry`]s.
    pub const THREADS: u32 = 5;
    /// [`super::RunEntry`]s.
    pub const RUNS: u32 = 6;
    /// A column of the records, named in [`super::SectionEntry::name`].
    pub const COLUMN: u32 = 7;
    /// [`super::CounterEntry`]s; not in traces without counters.
    pub const COUNTERS: u32 = 8;
    /// [`super::SyncEntry`]s, of leaders.
    pub const SYNCS: u32 = 9;
    /// [`super::ProbeEntry`]s, of leaders.
    pub const PROBES: u32 = 10;
}

/// One section of a part.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct SectionEntry {
    /// One of [`section`]; a reader skips kinds that it does not know.
    pub kind: u32,
    /// Bytes per element.
    pub element_size: u32,
    /// How the elements are stored; 0: as they are.
    pub encoding: u32,
    /// CRC-32 (IEEE 802.3, as in zlib) of the section's bytes.
    pub crc: u32,
    /// Bytes from the start of the part.
    pub offset: u64,
    /// Elements.
    pub count: u64,
    /// UTF-8, zero-padded; columns only.
    pub name: [u8; 32],
}

/// Consecutive records of one thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct RunEntry {
    /// Records in the run.
    pub count: u64,
    /// Index of the thread.
    pub thread: u32,
    /// For later versions.
    pub padding: u32,
}

/// The start of a part.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct PartHeader {
    /// [`PART_MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// CRC-32 of this header, with this field as 0, and of the sections' directory behind it.
    pub crc: u32,
    /// Bytes of the part, a multiple of [`PAGE`].
    pub length: u64,
    /// Sections in the directory that follows.
    pub sections: u32,
    /// 1 where the rank ended in another way than by `MPI_Finalize`, or records of it were lost.
    pub incomplete: u32,
    /// Records kept.
    pub records: u64,
    /// What is known of the rank.
    pub rank: RankHeader,
}

/// Where a rank's part lies.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct PartEntry {
    /// Bytes from the start of the file, a multiple of [`PAGE`].
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// World rank.
    pub rank: u32,
    /// For later versions.
    pub padding: u32,
}

/// The start of a trace file.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct FileHeader {
    /// [`FILE_MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// [`BYTE_ORDER_MARK`].
    pub byte_order: u32,
    /// The run's token.
    pub job: [u8; 16],
    /// The size of MPI_COMM_WORLD.
    pub world_size: u32,
    /// Parts in this file.
    pub parts: u32,
    /// Bytes of the file.
    pub length: u64,
    /// 1 where every rank of the run reached `MPI_Finalize`.
    pub complete: u32,
    /// CRC-32 of this header with this field as 0.
    pub crc: u32,
}

/// A fixed-size name as text.
pub fn name_of(name: &[u8; 32]) -> &str {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    std::str::from_utf8(&name[..end]).unwrap_or("?")
}

/// Text as a fixed-size name, cut at a character's boundary.
pub fn name_bytes(text: &str) -> [u8; 32] {
    let mut end = text.len().min(32);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = [0; 32];
    name[..end].copy_from_slice(&text.as_bytes()[..end]);
    name
}

/// `value` rounded up to a multiple of `step`.
pub const fn round_up(value: u64, step: u64) -> u64 {
    value.div_ceil(step) * step
}
