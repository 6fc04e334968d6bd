//! The live segment of a rank: its first page, and how its records lie.

use bytemuck::{Pod, Zeroable};

use super::{FinalizeTimes, MAX_COLUMNS, RankHeader, RankTimes};

/// First bytes of a live segment.
pub const SEGMENT_MAGIC: [u8; 8] = *b"MPITLIVE";

/// One chunk of a live segment's arrays.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ChunkEntry {
    /// The number of its draw, from 1; 0: never drawn. A full chunk is drawn again.
    pub draw: u64,
    /// Index of the thread that fills it.
    pub thread: u32,
    /// Bits of [`super::chunk_flags`].
    pub flags: u32,
}

/// A call that lasted longer than `duration` can hold.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct LongCallEntry {
    /// Its [`super::live_record`].
    pub record: u64,
    /// Ticks at its exit.
    pub exit: u64,
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
    /// Not 0: not every record uses it, and it has memory only in chunks with this one of [`super::chunk_flags`]. Such
    /// columns come last.
    pub on_demand: u32,
    /// Bytes from the start of a chunk.
    pub offset: u64,
}

/// Folders that may take the blocks that a rank writes while its program runs: the segment's and the trace's.
pub const BLOCK_FILES: usize = 2;

/// The first page of a live segment.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct SegmentHeader {
    /// [`SEGMENT_MAGIC`].
    pub magic: [u8; 8],
    /// [`super::VERSION`].
    pub version: u32,
    /// [`super::BYTE_ORDER_MARK`].
    pub byte_order: u32,
    /// The facts that are known of the rank.
    pub rank: RankHeader,
    /// The string area.
    pub strings: Region,
    /// [`super::CommunicatorEntry`]s.
    pub communicators: Region,
    /// [`super::OperationEntry`]s.
    pub operations: Region,
    /// [`super::ThreadEntry`]s.
    pub threads: Region,
    /// [`super::CounterEntry`]s.
    pub counters: Region,
    /// [`super::SyncEntry`]s.
    pub syncs: Region,
    /// [`super::ProbeEntry`]s.
    pub probes: Region,
    /// [`super::InterruptionEntry`]s. Where more are in use than fit, the first overwrite those that came first.
    pub interruptions: Region,
    /// [`LongCallEntry`]s, in the same way.
    pub long_calls: Region,
    /// [`ChunkEntry`]s.
    pub chunks: Region,
    /// Where the first chunk lies, bytes from the start of the segment.
    pub records_offset: u64,
    /// Records per chunk.
    pub chunk_records: u64,
    /// Bytes per chunk.
    pub chunk_bytes: u64,
    /// String reference of the run metadata ([`crate::metadata`]), 0 until it is known.
    pub metadata: u32,
    /// The number that `mpitrace run` gave the job (`MPITRACE_RUN`); 0: none.
    pub run: u32,
    /// The first [`RankHeader::columns`] are in use.
    pub columns: [ColumnEntry; MAX_COLUMNS],
    /// [`super::Buckets`] of the calls that are not kept, in no order.
    pub histograms: Region,
    /// Paths of the block files, string references, in the order in which they were written; 0: there is none.
    pub blocks: [u32; BLOCK_FILES],
    /// [`super::LiveThreadTimes`], as many as threads.
    pub thread_times: Region,
    /// [`super::PartnerEntry`]s: all [`super::PARTNER_ENTRIES`] of them, or none.
    pub partners: Region,
    /// [`super::MessageEntry`]s.
    pub messages: Region,
    /// The times of the rank.
    pub times: RankTimes,
    /// How long MPI_Finalize took.
    pub finalize: FinalizeTimes,
    /// Of each table, by [`table`], 1 + the first of its bytes that lies in private memory, since the folder had no
    /// room for it: from there on all of it is lost with the process, and the file has zeros in its place. 0: none of
    /// it does.
    pub private_from: [u64; table::COUNT],
}

// It has memory wherever there is a segment.
const _: () = assert!(size_of::<SegmentHeader>() as u64 <= super::PAGE);

/// The tables of a segment: indices into [`SegmentHeader::private_from`].
pub mod table {
    /// The string area.
    pub const STRINGS: usize = 0;
    /// [`super::super::CommunicatorEntry`]s.
    pub const COMMUNICATORS: usize = 1;
    /// [`super::super::OperationEntry`]s.
    pub const OPERATIONS: usize = 2;
    /// [`super::super::ThreadEntry`]s.
    pub const THREADS: usize = 3;
    /// [`super::super::CounterEntry`]s.
    pub const COUNTERS: usize = 4;
    /// [`super::super::SyncEntry`]s.
    pub const SYNCS: usize = 5;
    /// [`super::super::ProbeEntry`]s.
    pub const PROBES: usize = 6;
    /// [`super::super::InterruptionEntry`]s.
    pub const INTERRUPTIONS: usize = 7;
    /// [`super::LongCallEntry`]s.
    pub const LONG_CALLS: usize = 8;
    /// [`super::super::Buckets`].
    pub const HISTOGRAMS: usize = 9;
    /// [`super::super::ThreadTimes`].
    pub const THREAD_TIMES: usize = 10;
    /// [`super::super::PartnerEntry`]s.
    pub const PARTNERS: usize = 11;
    /// [`super::super::MessageEntry`]s.
    pub const MESSAGES: usize = 12;
    /// [`super::ChunkEntry`]s.
    pub const CHUNKS: usize = 13;
    /// How many there are.
    pub const COUNT: usize = 14;
}
