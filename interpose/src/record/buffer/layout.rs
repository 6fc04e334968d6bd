//! How the trace buffer is laid out: header, tables, chunks of records.

use bytemuck::Zeroable;
use mpitrace_format::layout::*;
use mpitrace_format::strings;

/// The tables, and the chunks' entries.
pub const REGIONS: usize = table::COUNT;
pub use mpitrace_format::layout::table::{
    CHUNKS, COMMUNICATORS, COUNTERS, HISTOGRAMS, INTERRUPTIONS, LONG_CALLS, MESSAGES as MESSAGE_CALLS, OPERATIONS,
    PARTNERS, PROBES, STRINGS, SYNCS, THREAD_TIMES, THREADS,
};

/// How many entries (bytes, for strings) each table can hold: address space only.
pub const CAPACITIES: [u64; CHUNKS] = [
    64 << 20,
    1 << 20,
    1 << 20,
    1 << 12,
    1 << 12,
    1 << 16,
    1 << 20,
    MOST_INTERRUPTIONS,
    1 << 20,
    MOST_ROWS,
    1 << 12,
    PARTNER_ENTRIES as u64,
    MOST_MESSAGES as u64 + FOLDED_MESSAGES,
];
/// Entries for message calls beyond those that are told apart: one for each function.
const FOLDED_MESSAGES: u64 = 1 << 8;
/// Entries of interruptions: 1 MiB of them, which take memory only as there are any.
pub const MOST_INTERRUPTIONS: u64 = 1 << 14;
/// The tables of a sample: rows of histograms (4 of each of 48 operations: 98 KiB), interruptions (18 KiB) and long
/// calls (8 KiB).
const OF_SAMPLE: [(usize, u64); 3] = [(HISTOGRAMS, 192), (INTERRUPTIONS, 256), (LONG_CALLS, 512)];
/// An entry of one of the tables, or that of a chunk.
pub trait Listed {
    /// The number of its table.
    const TABLE: usize;
}

macro_rules! tables {
    ($($entry:ident $table:ident),*) => { $(
        impl Listed for $entry {
            const TABLE: usize = $table;
        }
    )*
        /// Bytes of an entry of each table.
        pub const ENTRY_SIZES: [usize; REGIONS] = {
            let mut sizes = [1; REGIONS];
            $(sizes[$table] = size_of::<$entry>();)*
            sizes
        };
    };
}

tables! {
    CommunicatorEntry COMMUNICATORS, OperationEntry OPERATIONS, ThreadEntry THREADS, CounterEntry COUNTERS,
    SyncEntry SYNCS, ProbeEntry PROBES, InterruptionEntry INTERRUPTIONS, LongCallEntry LONG_CALLS, Buckets HISTOGRAMS,
    LiveThreadTimes THREAD_TIMES, PartnerEntry PARTNERS, MessageEntry MESSAGE_CALLS, ChunkEntry CHUNKS
}

/// The header's description of each table.
pub fn regions_of(header: &mut SegmentHeader) -> [&mut Region; REGIONS] {
    [
        &mut header.strings,
        &mut header.communicators,
        &mut header.operations,
        &mut header.threads,
        &mut header.counters,
        &mut header.syncs,
        &mut header.probes,
        &mut header.interruptions,
        &mut header.long_calls,
        &mut header.histograms,
        &mut header.thread_times,
        &mut header.partners,
        &mut header.messages,
        &mut header.chunks,
    ]
}

/// A layout: what the header says at first, which but for the state of the rank and of the tables stays so.
pub struct Layout {
    pub header: SegmentHeader,
    /// The tables, as they are at first.
    pub regions: [Region; REGIONS],
    pub chunks: u64,
    /// Bytes of all of it.
    pub length: u64,
    /// Bytes of what every rank uses: the header, a page of each table, and the chunks that get memory first. A folder
    /// with less room would hold the beginning of the buffer only.
    pub least: u64,
}

/// Memory is taken for so many records at once (384 KiB: some 0.2 ms, as 12 ms were measured for 20 MiB).
const MEMORY_STEP: u64 = 16384;

pub fn chunks_at_once(header: &SegmentHeader) -> u64 {
    MEMORY_STEP.div_ceil(header.chunk_records)
}

/// Records of a chunk: a 64th of the capacity, never more than 1024, so that a thousand threads get one each of the
/// usual capacity. Each chunk that is packed costs some us, so they are not smaller. A sample has few, whose columns
/// take whole pages.
fn chunk_records(capacity: u64, keeps: u32) -> u64 {
    let chunks = if keeps == keeps::SAMPLE { 4 } else { 64 };
    (capacity / chunks).next_power_of_two().clamp(16, 1024)
}

impl Layout {
    /// The layout for a rank whose records have these columns. `None`: it is larger than an address can tell.
    pub fn new(rank: RankHeader, columns: &[ColumnEntry], capacities: [u64; CHUNKS]) -> Option<Layout> {
        let mut header = SegmentHeader {
            magic: SEGMENT_MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER_MARK,
            rank: RankHeader { columns: columns.len() as u32, ..rank },
            chunk_records: chunk_records(rank.capacity, rank.keeps),
            ..SegmentHeader::zeroed()
        };
        let mut offset = 0;
        let mut before = 0;
        for (entry, column) in header.columns.iter_mut().zip(columns) {
            // What is used on demand starts on a page of its own.
            offset = round_up(offset, if column.on_demand == before { SECTION_ALIGNMENT } else { PAGE });
            *entry = ColumnEntry { offset, ..*column };
            offset += header.chunk_records * u64::from(column.element_size);
            before = column.on_demand;
        }
        header.chunk_bytes = round_up(offset, PAGE);
        // One chunk is always being refilled.
        let is_sample = rank.keeps == keeps::SAMPLE;
        let chunks = rank.capacity.div_ceil(header.chunk_records) + u64::from(!is_sample);
        let mut all = [chunks; REGIONS];
        all[..CHUNKS].copy_from_slice(&capacities);
        let bounds = OF_SAMPLE.into_iter().filter(|_| is_sample);
        bounds.for_each(|(table, most)| all[table] = all[table].min(most));
        let capacities = all;
        let mut end = round_up(size_of::<SegmentHeader>() as u64, PAGE);
        let mut regions = capacities.map(|capacity| Region { offset: 0, capacity, used: 0 });
        for (region, size) in regions.iter_mut().zip(ENTRY_SIZES) {
            region.offset = end;
            end = round_up(end + region.capacity * size as u64, PAGE);
        }
        regions[STRINGS].used = strings::FIRST;
        for (said, region) in regions_of(&mut header).into_iter().zip(regions) {
            *said = region;
        }
        header.records_offset = end;
        let length = end + chunks.checked_mul(header.chunk_bytes)?;
        let least = PAGE * (REGIONS as u64 + 1) + chunks_at_once(&header).min(chunks) * range_of(&header, 0).1;
        Some(Layout { header, regions, chunks, length, least })
    }
}

/// Offset and bytes of the columns of a chunk that get memory with this one of the `chunk_flags` (0: with the chunk).
pub fn range_of(header: &SegmentHeader, flag: u32) -> (u64, u64) {
    let columns = &header.columns[..header.rank.columns as usize];
    let first = columns.iter().position(|column| column.on_demand == flag).unwrap_or(columns.len());
    let behind = columns.iter().skip(first).find(|column| column.on_demand != flag);
    let start = columns.get(first).map_or(header.chunk_bytes, |column| column.offset);
    (start, behind.map_or(header.chunk_bytes, |column| column.offset) - start)
}
