//! A copy of a segment whose process goes on recording: its tables and the last records of each thread.
//!
//! The copy is a segment again, laid out again, that [`mpitrace_format::segment::read`] reads like any other. What the
//! process may change meanwhile is copied in this order:
//!
//! 1. the table of chunks, then the chunks. Of each chunk: the ticks at the entries, the other columns, the ticks at
//!    the entries again, the number of its draw. A record counts if its tick is the same both times, a chunk if its
//!    draw is.
//! 2. the tables, which then have an entry for whatever a record refers to, and counts that are not behind it.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{Ordering, fence};

use bytemuck::Zeroable;
use mpitrace_format::layout::*;
use mpitrace_format::live::{Segment, now, read_header};
use mpitrace_format::part::Content;
use mpitrace_format::publication::{self, Changing};
use mpitrace_format::{TraceError, segment as format};

/// A chunk that is drawn again while it is copied is tried so often.
const TRIES: usize = 3;
/// Entries of the table of long calls that are copied, the last ones.
const LONG_CALLS: u64 = 1 << 14;
/// No table is copied beyond so many bytes.
const LARGEST_TABLE: u64 = 256 << 20;

/// A copy of a segment.
#[derive(Clone, Debug)]
pub struct Copied {
    /// The file that it was copied from.
    pub path: PathBuf,
    /// Records that were not copied, since there were more.
    pub left_out: u64,
    /// The segment; in words, since its tables are aligned so.
    words: Vec<u64>,
}

/// Copies the tables and about so many of the last records, of each thread those of the chunk that it fills at
/// least. The rank's last anchor becomes the present.
///
/// # Errors
/// The file holds no segment, or it cannot be read.
pub fn copy(segment: &Segment, records: u64) -> Result<Copied, TraceError> {
    let io = |error| TraceError::io(&segment.path, error);
    let header = read_header(&segment.path, &segment.file)?;
    let entries: Vec<ChunkEntry> = table(segment, &header.chunks, 0).map_err(io)?;
    let wanted = wanted(&entries, header.chunk_records, records);
    let of_calls = |entry: &&ChunkEntry| entry.draw != 0 && entry.thread & MESSAGES == 0;
    let left_out = entries.iter().filter(of_calls).count() - wanted.len();
    let layout = Layout::new(&header);
    let mut image = Image::new(size_of::<SegmentHeader>());
    let mut chunks = Vec::new();
    for index in wanted {
        if let Some((entry, columns)) = chunk(segment, &header, &layout, index) {
            chunks.push((entry, columns));
        }
    }
    let anchor = now::anchor(header.rank.clock_source);
    // Again, behind the records: how far the tables are used, and the state of the rank.
    let header = read_header(&segment.path, &segment.file)?;
    let mut copied = layout.header(&header);
    copied.rank.last_anchor = anchor;
    // What lies in private memory is as lost to this process as it is after a kill. The tables begin with the same
    // entries, but for these two.
    copied.private_from = header.private_from;
    [table::CHUNKS, table::LONG_CALLS].iter().for_each(|table| copied.private_from[*table] = 0);
    let long_calls = header.long_calls.used.min(header.long_calls.capacity).saturating_sub(LONG_CALLS);
    copied.strings = image.table::<u8>(&table(segment, &header.strings, 0).map_err(io)?);
    copied.communicators = image.table::<CommunicatorEntry>(&table(segment, &header.communicators, 0).map_err(io)?);
    copied.operations = image.table::<OperationEntry>(&table(segment, &header.operations, 0).map_err(io)?);
    copied.threads = image.table::<ThreadEntry>(&table(segment, &header.threads, 0).map_err(io)?);
    copied.thread_times = image.table::<LiveThreadTimes>(&table(segment, &header.thread_times, 0).map_err(io)?);
    copied.partners = image.table::<PartnerEntry>(&table(segment, &header.partners, 0).map_err(io)?);
    copied.syncs = image.table::<SyncEntry>(&table(segment, &header.syncs, 0).map_err(io)?);
    copied.probes = image.table::<ProbeEntry>(&table(segment, &header.probes, 0).map_err(io)?);
    copied.long_calls = image.table::<LongCallEntry>(&table(segment, &header.long_calls, long_calls).map_err(io)?);
    let entries: Vec<ChunkEntry> = chunks.iter().map(|(entry, _)| *entry).collect();
    copied.chunks = image.table::<ChunkEntry>(&entries);
    image.align(PAGE);
    copied.records_offset = image.length();
    for (_, columns) in &chunks {
        image.words.extend_from_slice(columns);
    }
    image.put_header(&copied);
    let left_out = left_out as u64 * header.chunk_records;
    Ok(Copied { path: segment.path.clone(), left_out, words: image.words })
}

/// The entries of a table from this one on, as far as the file has them. What an entry holds may be changed
/// meanwhile: a word at a time, and each of them means something by itself.
pub(super) fn table<T: bytemuck::Pod>(segment: &Segment, region: &Region, first: u64) -> std::io::Result<Vec<T>> {
    let count = region.used.min(region.capacity).saturating_sub(first);
    let size = size_of::<T>() as u64;
    let (Some(bytes), Some(offset)) =
        (count.checked_mul(size), first.checked_mul(size).and_then(|first| first.checked_add(region.offset)))
    else {
        return Ok(Vec::new());
    };
    let there = segment.file.metadata()?.len().saturating_sub(offset);
    let count = bytes.min(there).min(LARGEST_TABLE) / size;
    let mut entries = vec![T::zeroed(); count as usize];
    segment.file.read_exact_at(bytemuck::cast_slice_mut(&mut entries), offset)?;
    Ok(entries)
}

/// The columns of a chunk as the copy has them, with the records that were whole. `None`: it was drawn again all the
/// time, or the file does not reach so far.
fn chunk(segment: &Segment, header: &SegmentHeader, layout: &Layout, index: usize) -> Option<(ChunkEntry, Vec<u64>)> {
    (0..TRIES).find_map(|_| chunk_once(segment, header, layout, index))
}

fn chunk_once(
    segment: &Segment,
    header: &SegmentHeader,
    layout: &Layout,
    index: usize,
) -> Option<(ChunkEntry, Vec<u64>)> {
    let start = header.records_offset.checked_add((index as u64).checked_mul(header.chunk_bytes)?)?;
    let columns = vec![0u64; (layout.chunk_bytes / 8) as usize];
    let mut chunk = LiveChunk { segment, header, layout, index, start, entry: None, columns };
    let (_, behind) = publication::copy(&mut chunk)?;
    let (entry, mut columns) = (chunk.entry?, chunk.columns);
    let enter = &mut columns[..header.chunk_records as usize];
    let whole = publication::whole(enter, &behind);
    enter[whole..].fill(0);
    Some((ChunkEntry { flags: entry.flags & chunk_flags::EXTENDED, ..entry }, columns))
}

fn chunk_entry(segment: &Segment, header: &SegmentHeader, index: usize) -> Option<ChunkEntry> {
    let mut entry = ChunkEntry::zeroed();
    let offset = (index * size_of::<ChunkEntry>()) as u64;
    segment.file.read_exact_at(bytemuck::bytes_of_mut(&mut entry), header.chunks.offset.checked_add(offset)?).ok()?;
    Some(entry)
}

/// A chunk of a file that its process goes on writing to.
struct LiveChunk<'s> {
    segment: &'s Segment,
    header: &'s SegmentHeader,
    layout: &'s Layout,
    index: usize,
    /// Where the chunk starts in the file, bytes.
    start: u64,
    /// The entry of the chunk before anything of it was copied.
    entry: Option<ChunkEntry>,
    /// The columns as the copy has them.
    columns: Vec<u64>,
}

impl Changing for LiveChunk<'_> {
    fn draw(&mut self) -> Option<u64> {
        let entry = chunk_entry(self.segment, self.header, self.index)?;
        self.entry.get_or_insert(entry);
        Some(entry.draw)
    }

    fn columns(&self) -> usize {
        self.layout.columns.len()
    }

    fn copy_column(&mut self, column: usize) -> Option<()> {
        let column = &self.layout.columns[column];
        let from = &self.header.columns[column.from];
        if from.on_demand != 0 && self.entry?.flags & from.on_demand == 0 {
            return Some(());
        }
        let length = (self.header.chunk_records * u64::from(from.element_size)) as usize;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.columns);
        let place = &mut bytes[column.offset as usize..][..length];
        self.segment.file.read_exact_at(place, self.start.checked_add(from.offset)?).ok()
    }

    fn entries(&mut self) -> Option<Vec<u64>> {
        let mut entries = vec![0u64; self.header.chunk_records as usize];
        let offset = self.start.checked_add(self.header.columns[0].offset)?;
        self.segment.file.read_exact_at(bytemuck::cast_slice_mut(&mut entries), offset).ok()?;
        Some(entries)
    }

    fn keep_order(&self) {
        fence(Ordering::Acquire);
    }
}

/// The chunks with about so many of the last records, with the one of each thread that was drawn last; those in private
/// memory cannot be read.
fn wanted(entries: &[ChunkEntry], chunk_records: u64, records: u64) -> Vec<usize> {
    // Nothing that is shown of a running job is from the records of message calls.
    let readable =
        |entry: &ChunkEntry| entry.draw != 0 && entry.flags & chunk_flags::PRIVATE == 0 && entry.thread & MESSAGES == 0;
    let mut chosen: Vec<usize> = (0..entries.len()).filter(|&index| readable(&entries[index])).collect();
    chosen.sort_by_key(|&index| std::cmp::Reverse(entries[index].draw));
    let most = records.div_ceil(chunk_records.max(1)) as usize;
    let mut threads = Vec::new();
    let mut number = 0;
    chosen.retain(|&index| {
        number += 1;
        let is_first = !threads.contains(&entries[index].thread);
        if is_first {
            threads.push(entries[index].thread);
        }
        is_first || number <= most
    });
    chosen
}

/// Which columns a copy has, and where they lie in its chunks.
struct Layout {
    columns: Vec<CopiedColumn>,
    chunk_bytes: u64,
}

struct CopiedColumn {
    /// Its place among the segment's columns.
    from: usize,
    offset: u64,
}

impl Layout {
    /// The columns that every record has, and those of requests; no counters.
    fn new(header: &SegmentHeader) -> Layout {
        let is_copied = |index: &usize| {
            let entry = &header.columns[*index];
            *index < LIVE_COLUMNS.len() || entry.on_demand == chunk_flags::EXTENDED
        };
        let mut offset = 0;
        let place = |from: usize| {
            let here = offset;
            offset = round_up(here + header.chunk_records * u64::from(header.columns[from].element_size), 8);
            CopiedColumn { from, offset: here }
        };
        let columns: Vec<CopiedColumn> = (0..header.rank.columns as usize).filter(is_copied).map(place).collect();
        Layout { columns, chunk_bytes: round_up(offset, 8) }
    }

    /// The header of the copy, but for its tables.
    fn header(&self, header: &SegmentHeader) -> SegmentHeader {
        let mut copied = SegmentHeader {
            magic: SEGMENT_MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER_MARK,
            rank: RankHeader { columns: self.columns.len() as u32, ..header.rank },
            chunk_records: header.chunk_records,
            chunk_bytes: self.chunk_bytes,
            metadata: header.metadata,
            times: header.times,
            finalize: header.finalize,
            ..SegmentHeader::zeroed()
        };
        for (entry, column) in copied.columns.iter_mut().zip(&self.columns) {
            *entry = ColumnEntry { offset: column.offset, ..header.columns[column.from] };
        }
        copied
    }
}

/// The bytes of a copy, in words.
struct Image {
    words: Vec<u64>,
}

impl Image {
    fn new(bytes: usize) -> Image {
        Image { words: vec![0; bytes.div_ceil(8)] }
    }

    fn length(&self) -> u64 {
        self.words.len() as u64 * 8
    }

    fn align(&mut self, to: u64) {
        self.words.resize((round_up(self.length(), to) / 8) as usize, 0);
    }

    /// Puts a table at the end.
    pub(super) fn table<T: bytemuck::Pod>(&mut self, entries: &[T]) -> Region {
        self.align(64);
        let (offset, count) = (self.length(), entries.len() as u64);
        let bytes: &[u8] = bytemuck::cast_slice(entries);
        let first = self.words.len();
        self.words.resize(first + bytes.len().div_ceil(8), 0);
        bytemuck::cast_slice_mut::<u64, u8>(&mut self.words[first..])[..bytes.len()].copy_from_slice(bytes);
        Region { offset, capacity: count, used: count }
    }

    fn put_header(&mut self, header: &SegmentHeader) {
        let bytes = bytemuck::bytes_of(header);
        bytemuck::cast_slice_mut::<u64, u8>(&mut self.words)[..bytes.len()].copy_from_slice(bytes);
    }
}

impl Copied {
    /// The content of the copy.
    ///
    /// # Errors
    /// The segment is damaged, or the rank has not come to the end of `MPI_Init`.
    pub fn content(&self) -> Result<Content<'_>, TraceError> {
        format::read(&self.path, self.bytes(), false)
    }

    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.words)
    }
}
