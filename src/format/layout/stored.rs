//! The trace file: its frame, and the part of each rank.

use bytemuck::{Pod, Zeroable};

use super::RankHeader;

/// Sections within a part start at multiples of this many bytes, so that each column can be used where it lies.
pub const SECTION_ALIGNMENT: u64 = 64;
/// First bytes of a trace file.
pub const FILE_MAGIC: [u8; 8] = *b"MPITRACE";
/// First bytes of a rank's part within a trace file.
pub const PART_MAGIC: [u8; 8] = *b"MPITPART";

/// Tells [`RunningTotals`] from the entry of a part.
pub const TOTALS_MAGIC: [u8; 4] = *b"TOTL";

/// The content of a section of a part: values of [`SectionEntry::kind`].
pub mod section {
    /// The run metadata: a list of (name, value), see [`crate::metadata`].
    pub const FACTORS: u32 = 1;
    /// The string area.
    pub const STRINGS: u32 = 2;
    /// [`crate::layout::CommunicatorEntry`]s.
    pub const COMMUNICATORS: u32 = 3;
    /// [`crate::layout::OperationEntry`]s.
    pub const OPERATIONS: u32 = 4;
    /// [`crate::layout::ThreadEntry`]s.
    pub const THREADS: u32 = 5;
    /// [`super::StoredColumn`]s: the columns of the records.
    pub const COLUMNS: u32 = 6;
    /// The records: blocks ([`crate::packed::Block`]), one behind the other. Each has a checksum of its own.
    pub const BLOCKS: u32 = 7;
    /// [`crate::layout::CounterEntry`]s; not in traces without counters.
    pub const COUNTERS: u32 = 8;
    /// [`crate::layout::SyncEntry`]s, of leaders.
    pub const SYNCS: u32 = 9;
    /// [`crate::layout::ProbeEntry`]s, of leaders.
    pub const PROBES: u32 = 10;
    /// [`crate::layout::InterruptionEntry`]s, in the order of their records; not where there were none.
    pub const INTERRUPTIONS: u32 = 11;
    /// [`crate::layout::HistogramEntry`]s of the calls that were not kept, in order; not where there were none.
    pub const HISTOGRAMS: u32 = 12;
    /// [`crate::layout::RankTimes`], one.
    pub const RANK_TIMES: u32 = 13;
    /// [`crate::layout::ThreadTimes`], as many as threads.
    pub const THREAD_TIMES: u32 = 14;
    /// [`crate::layout::FinalizeTimes`], one, without a checksum.
    pub const FINALIZE_TIMES: u32 = 15;
    /// [`crate::layout::PartnerEntry`]s of partners with calls or messages, and one that is there wherever they are
    /// counted.
    pub const PARTNERS: u32 = 16;
    /// [`crate::layout::MessageEntry`]s; not where no message calls were recorded.
    pub const MESSAGES: u32 = 17;
    /// The records of message calls: blocks, as those of [`BLOCKS`].
    pub const MESSAGE_BLOCKS: u32 = 18;
    /// [`super::LostRecords`], one; not where none were lost.
    pub const LOST: u32 = 19;
    /// [`crate::layout::LastStamp`]s, as many as threads; not where no thread has one.
    pub const LAST_STAMPS: u32 = 20;
    /// [`crate::layout::PollTimes`], as many as threads; not where no thread has polled.
    pub const POLLS: u32 = 21;
}

/// The records of a killed process that could not be recovered: where the folder of the segment had no room, they or
/// what they refer to lay in private memory, which went with the process.
///
/// ```
/// use mpitrace_format::layout::LostRecords;
///
/// assert!(!LostRecords::default().are_any());
/// assert!(LostRecords { others: 1, ..LostRecords::default() }.are_any());
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct LostRecords {
    /// Records whose operation, or its communicator, was lost, so that no table counts their calls.
    pub without_operation: u64,
    /// Records that were lost for another reason and are counted: their thread, the name of their function or another
    /// record of their block was lost.
    pub others: u64,
    /// Records of message calls that were lost, for both reasons.
    pub messages: u64,
    /// Chunks that lay in private memory. How many records they had is not known.
    pub chunks: u32,
    /// Block files that do not exist, or have blocks that cannot be used.
    pub block_files: u32,
}

impl LostRecords {
    /// True if there are any.
    pub fn are_any(&self) -> bool {
        *self != LostRecords::default()
    }
}

/// One section of a part.
///
/// ```
/// use mpitrace_format::layout::SectionEntry;
///
/// let entry = SectionEntry { offset: 4096, count: 3, element_size: 8, ..SectionEntry::default() };
/// assert_eq!(entry.end(), 4120);
/// ```
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct SectionEntry {
    /// One of [`section`]; a reader skips kinds that it does not know.
    pub kind: u32,
    /// Bytes per element.
    pub element_size: u32,
    /// Bytes from the start of the part.
    pub offset: u64,
    /// Elements.
    pub count: u64,
    /// CRC-32 (IEEE 802.3, as in zlib) of the section's bytes; 0 for blocks and [`section::FINALIZE_TIMES`].
    pub crc: u32,
    /// For later versions.
    pub padding: u32,
}

impl SectionEntry {
    /// Where it ends, bytes from the start of the part; the greatest number where it leads beyond.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.count.saturating_mul(self.element_size.into()))
    }
}

/// A column that some block of a part has.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct StoredColumn {
    /// UTF-8, zero-padded.
    pub name: [u8; 32],
    /// Its number, below [`super::MAX_COLUMNS`]: those of every block ([`super::COLUMNS`]) come first.
    pub number: u32,
    /// For later versions.
    pub padding: u32,
}

/// Consecutive records of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunEntry {
    /// Records in the run.
    pub count: u64,
    /// Index of the thread.
    pub thread: u32,
}

/// The start of a part.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct PartHeader {
    /// [`PART_MAGIC`].
    pub magic: [u8; 8],
    /// [`super::VERSION`].
    pub version: u32,
    /// CRC-32 of this header, with this field as 0, and of the sections' directory behind it.
    pub crc: u32,
    /// Bytes of the part, a multiple of [`super::PAGE`].
    pub length: u64,
    /// Sections in the directory that follows.
    pub sections: u32,
    /// 1 where the rank ended in another way than by `MPI_Finalize`, or records of it were lost.
    pub incomplete: u32,
    /// Records kept.
    pub records: u64,
    /// The facts that are known of the rank.
    pub rank: RankHeader,
}

/// Where a rank's part lies.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct PartEntry {
    /// Bytes from the start of the file, a multiple of [`super::PAGE`].
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// World rank.
    pub rank: u32,
    /// For later versions.
    pub padding: u32,
}

/// Sums over the parts that a trace has so far, where ranks add their parts one after the other. It lies where the
/// entry of the next part will be ([`crate::running_totals`]).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct RunningTotals {
    /// Records in the parts.
    pub records: u64,
    /// How many parts these are.
    pub parts: u32,
    /// 1 where each of their ranks reached `MPI_Finalize` and has lost no records.
    pub complete: u32,
    /// [`TOTALS_MAGIC`].
    pub magic: [u8; 4],
    /// CRC-32 of these 24 bytes with this field as 0.
    pub crc: u32,
}

/// The start of a trace file.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct FileHeader {
    /// [`FILE_MAGIC`].
    pub magic: [u8; 8],
    /// [`super::VERSION`].
    pub version: u32,
    /// [`super::BYTE_ORDER_MARK`].
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
