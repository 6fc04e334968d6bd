//! Reads a live segment: what the preloaded library keeps in node-local memory while the program runs.
//!
//! One reader serves Finalize, where the segment is the library's own mapping, and `recover`, where it is a file that a
//! killed process left. Nothing in it is trusted: every offset and count is checked against the bytes there are.
//!
//! ```
//! use std::path::Path;
//!
//! use mpitrace_format::segment::{block_files, header, message_numbering, read, read_with};
//!
//! // What is no segment is refused, with the file's name and the reason.
//! let (path, bytes) = (Path::new("a-segment"), [0; 64]);
//! let refused = [
//!     read(path, &bytes, false).map(|_| ()).expect_err("no segment"),
//!     read_with(path, &bytes, false, Vec::new()).map(|_| ()).expect_err("no segment"),
//!     header(path, &bytes).map(|_| ()).expect_err("no segment"),
//!     block_files(path, &bytes).map(|_| ()).expect_err("no segment"),
//! ];
//! assert!(refused.iter().all(|error| error.to_string() == "a-segment: is too short to be a segment"));
//! assert_eq!(message_numbering(3).len(), 3);
//! ```

mod lost;
mod tables;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::TraceError;
use crate::block_file::BlockReader;
use crate::layout::*;
use crate::live_records::{self, Counted, LiveTables, RankClock};
use crate::packed::{Block, Numbering, Rows};
use crate::part::{Blocks, Content, Times};
use tables::{Tables, in_file, slice};

/// The content of a segment, in the order in which a part stores it.
///
/// `path` only names the segment in errors. Records that lie in `private` chunks count as lost unless `is_this_process`
/// says that this process is the one that filled them.
///
/// # Errors
/// It is no segment, of another version, or damaged.
pub fn read<'a>(path: &Path, bytes: &'a [u8], is_this_process: bool) -> Result<Content<'a>, TraceError> {
    read_with(path, bytes, is_this_process, Vec::new())
}

/// A file with its name.
pub type NamedFile = (PathBuf, Arc<File>);

/// The content of a segment with the records in its block files.
///
/// # Errors
/// A damaged segment; a block file that cannot be read, or is another segment's.
pub fn read_with<'a>(
    path: &Path,
    bytes: &'a [u8],
    is_this_process: bool,
    files: Vec<NamedFile>,
) -> Result<Content<'a>, TraceError> {
    let damaged = |what: &str| TraceError::damaged(path, what);
    let header = header(path, bytes)?;
    let tables = Tables::find(path, bytes, header, is_this_process)?;
    let mut lost = LostRecords::default();
    let mut kept = chunks(header, &tables, bytes, is_this_process, &mut lost).map_err(damaged)?;
    let missing = header.blocks.iter().filter(|name| **name != 0).count().saturating_sub(files.len());
    lost.block_files += if is_this_process { 0 } else { missing as u32 };

    let clock = match header.rank.pretended {
        0 => None,
        text => {
            let text = crate::strings::text(tables.strings, text);
            let clock = text.and_then(|text| RankClock::new(&header.rank, &text));
            Some(clock.ok_or_else(|| damaged("has a simulated clock that cannot be read"))?)
        }
    };
    let mut reading = Reading::new(header, &tables, is_this_process, clock.as_ref());
    for (path, file) in files {
        // The last block may be of a chunk that was not withdrawn yet.
        let last = reading.take_file(&path, &file)?;
        kept.retain(|kept| last != Some(kept.entry.draw));
    }
    kept.sort_by_cached_key(|kept| (u64::from(kept.entry.thread), kept.entry.draw));
    let mut rows: Vec<Option<Rows>> = kept.iter().map(|_| None).collect();
    if header.rank.keeps == keeps::SAMPLE {
        // From the last to the first, thread by thread.
        let mut thread = None;
        for (rows, kept) in rows.iter_mut().zip(&kept).rev().filter(|(_, kept)| kept.entry.thread & MESSAGES == 0) {
            if thread.replace(kept.entry.thread) != Some(kept.entry.thread) {
                reading.counted.take();
            }
            *rows = reading.rows(kept);
        }
        reading.counted.take();
    }
    for (kept, rows) in kept.iter().zip(rows) {
        reading.take_chunk(kept, rows).map_err(damaged)?;
    }

    let mut columns = live_records::columns(header, clock.is_some());
    let mut rank = header.rank;
    if let Some(clock) = &clock {
        columns.extend(live_records::stored_columns(columns.len() as u32, &TRUE_COLUMNS));
        for anchor in [&mut rank.first_anchor, &mut rank.last_anchor] {
            anchor.tick = clock.local(anchor.tick);
        }
    }
    let of_threads = tables.thread_times.iter();
    let mut times = Times {
        rank: header.times,
        finalize: header.finalize,
        threads: of_threads.clone().map(|thread| thread.times).collect(),
        last: of_threads.clone().map(|thread| thread.last).collect(),
        polls: of_threads.map(|thread| thread.polls).collect(),
    };
    if times.polls.iter().all(|polls| polls.polls == 0 && polls.since == 0) {
        times.polls.clear();
    }
    if times.last.iter().all(|last| last.tick == 0) {
        times.last.clear();
    }
    if let Some(clock) = &clock {
        let readings = times.threads.iter_mut().flat_map(|thread| &mut thread.processor);
        let polled = times.polls.iter_mut().map(|polls| &mut polls.since).filter(|since| **since != 0);
        let last = times.last.iter_mut().map(|last| &mut last.tick);
        let stamps = last.chain(polled).chain([&mut times.rank.finalize_enter]);
        for tick in readings.map(|reading| &mut reading.tick).chain(stamps) {
            *tick = clock.local(*tick);
        }
    }
    let Reading { blocks, message_blocks, mut interruptions, behind, lost: in_files, .. } = reading;
    lost::add(&mut lost, &in_files);
    interruptions.extend(behind.into_iter().flatten().map(|entry| InterruptionEntry { record: NO_RECORD, ..*entry }));
    // By keys of one type, of which the preloaded library has one sort.
    interruptions.sort_by_cached_key(|entry| -> (u64, u64) {
        (entry.record, (entry.flags & interruption_flags::BETWEEN == 0).into())
    });
    Ok(Content {
        rank,
        incomplete: lost.are_any() || header.rank.state != state::FINALIZED,
        lost,
        metadata: crate::strings::bytes(tables.strings, header.metadata).unwrap_or_default(),
        strings: tables.strings,
        communicators: bytemuck::cast_slice(tables.communicators),
        operations: bytemuck::cast_slice(tables.operations),
        threads: bytemuck::cast_slice(tables.threads),
        times,
        partners: used_partners(tables.partners),
        counters: bytemuck::cast_slice(tables.counters),
        syncs: bytemuck::cast_slice(tables.syncs),
        probes: bytemuck::cast_slice(tables.probes),
        interruptions,
        histograms: histograms(tables.histograms),
        columns,
        blocks,
        messages: bytemuck::cast_slice(tables.messages),
        message_blocks,
    })
}

/// Lets the content of a segment, which these bytes are, end with this anchor, which is of the true clock.
///
/// # Errors
/// A damaged segment.
pub(crate) fn end_at(path: &Path, bytes: &[u8], content: &mut Content<'_>, anchor: Anchor) -> Result<(), TraceError> {
    let rank = &header(path, bytes)?.rank;
    let text = crate::strings::text(content.strings, rank.pretended).filter(|_| rank.pretended != 0);
    let clock = text.and_then(|text| RankClock::new(rank, &text));
    let tick = clock.map_or(anchor.tick, |clock| clock.local(anchor.tick));
    content.rank.last_anchor = Anchor { tick, ..anchor };
    Ok(())
}

/// The chunks with records; what was lost of them is added to `lost`.
fn chunks<'a>(
    header: &SegmentHeader,
    tables: &Tables<'a>,
    bytes: &'a [u8],
    is_this_process: bool,
    lost: &mut LostRecords,
) -> Result<Vec<Kept<'a>>, &'static str> {
    let mut kept = Vec::new();
    // Their entries may lie in private memory, too.
    lost.chunks += (header.chunks.used.min(header.chunks.capacity) as usize - tables.chunks.len()) as u32;
    for (index, entry) in tables.chunks.iter().enumerate().filter(|(_, entry)| entry.draw != 0) {
        if entry.flags & chunk_flags::PRIVATE != 0 && !is_this_process {
            lost.chunks += 1;
            continue;
        }
        let start =
            (index as u64).checked_mul(header.chunk_bytes).and_then(|offset| offset.checked_add(header.records_offset));
        // The last chunk of the file may end before columns that are not in use.
        let end = start.map(|start| start.saturating_add(header.chunk_bytes).min(bytes.len() as u64));
        let chunk = start.zip(end).and_then(|(start, end)| slice(bytes, start, end.checked_sub(start)?));
        let enter = chunk.and_then(|chunk| column(chunk, &header.columns[0], header.chunk_records));
        let (Some(chunk), Some(enter)) = (chunk, enter) else {
            // Drawn, but the process was killed before the file had grown.
            lost.chunks += 1;
            continue;
        };
        let enter: &[u64] = bytemuck::try_cast_slice(enter).map_err(|_| "a chunk is too short for its columns")?;
        // The entry is stored before the call is forwarded, and records are filled in order.
        let records = enter.partition_point(|&tick| tick != 0) as u64;
        let mut found = Kept { entry: *entry, chunk, records, readable: None };
        if !is_this_process && let Some(numbers) = found.values(header, &header.columns[OPERATION]) {
            found.readable = tables.readable(&numbers, entry.thread, lost);
        }
        kept.push(found);
    }
    Ok(kept)
}

/// The records that were taken so far, in blocks.
struct Reading<'r, 'a> {
    header: &'r SegmentHeader,
    tables: &'r Tables<'a>,
    numbering: Numbering,
    is_this_process: bool,
    clock: Option<&'r RankClock>,
    /// The exits of long calls, and of those whose chunk was in a file by then: record and ticks by draw, in the order
    /// of the records.
    exits: HashMap<u64, Vec<(u32, u64)>>,
    /// In a sample: the counts of operations, and those of communicators, before the records that were read.
    counted: RefCell<[HashMap<u32, u64>; 2]>,
    /// For each draw the interruptions of its records.
    interrupted: HashMap<u64, Vec<&'a InterruptionEntry>>,
    interruptions: Vec<InterruptionEntry>,
    /// For each thread the interruptions behind its last record so far.
    behind: Vec<Vec<&'a InterruptionEntry>>,
    blocks: Blocks,
    message_numbering: Numbering,
    message_blocks: Blocks,
    /// The records of block files that were lost.
    lost: LostRecords,
}

impl<'r, 'a> Reading<'r, 'a> {
    fn new(
        header: &'r SegmentHeader,
        tables: &'r Tables<'a>,
        is_this_process: bool,
        clock: Option<&'r RankClock>,
    ) -> Self {
        let mut exits: HashMap<u64, Vec<(u32, u64)>> = HashMap::new();
        for entry in tables.long_calls {
            let (draw, record) = of_live_record(entry.record);
            exits.entry(draw).or_default().push((record, entry.exit));
        }
        // Stable: the last one of a record counts.
        exits.values_mut().for_each(|of_draw| of_draw.sort_by_key(|&(record, _)| record));
        let mut interrupted: HashMap<u64, Vec<&InterruptionEntry>> = HashMap::new();
        let mut behind = vec![Vec::new(); tables.threads.len()];
        for entry in tables.interruptions {
            match (of_live_record(entry.record).0, behind.get_mut(entry.thread as usize)) {
                // The thread had drawn no chunk.
                (0, Some(behind)) => behind.push(entry),
                (draw, _) => interrupted.entry(draw).or_default().push(entry),
            }
        }
        Reading {
            header,
            tables,
            numbering: Numbering::new(tables.operations.iter().map(|operation| operation.communicator).collect()),
            is_this_process,
            clock,
            exits,
            counted: RefCell::default(),
            interrupted,
            interruptions: Vec::new(),
            behind,
            blocks: Blocks::default(),
            message_numbering: message_numbering(tables.messages.len()),
            message_blocks: Blocks::default(),
            lost: LostRecords::default(),
        }
    }

    /// Takes the blocks of a file: the draw of the last one. One with a call that is not known is left out: the numbers
    /// of its other calls follow from that call's communicator.
    fn take_file(&mut self, path: &Path, file: &Arc<File>) -> Result<Option<u64>, TraceError> {
        let unreadable = |error: std::io::Error| match error.kind() {
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                TraceError::damaged(path, "is not a block file of its segment")
            }
            _ => TraceError::io(path, error),
        };
        let numbering = std::mem::take(&mut self.numbering);
        self.blocks.add_file(Arc::clone(file));
        self.message_blocks.add_file(Arc::clone(file));
        let mut reader = BlockReader::new(file, &self.header.rank, &numbering).map_err(unreadable)?;
        let (mut last, mut lost) = (None, LostRecords::default());
        while let Some((offset, block)) = reader.next_block().map_err(unreadable)? {
            let (draw, thread) = (block.header.draw, block.header.thread);
            let can_use = match self.is_this_process {
                true => self.tables.have_all_of(&block),
                false => self.tables.can_use(&block, &mut lost),
            };
            if !can_use {
                continue;
            }
            if thread & MESSAGES != 0 {
                self.message_blocks.add_stored(offset, &block);
                last = Some(draw);
                continue;
            }
            let interrupted = self.interrupted.remove(&draw);
            if !self.is_this_process || interrupted.is_some() || !self.behind[thread as usize].is_empty() {
                let Some(operations) = block.operations() else { break };
                self.note(interrupted, thread, &operations, None);
            }
            match self.exits.get(&draw).and_then(|late| with_exits(&block, late, self.clock)) {
                Some(rows) => self.blocks.add(&rows, &numbering, draw, thread),
                None => self.blocks.add_stored(offset, &block),
            }
            last = Some(draw);
        }
        lost.block_files += u32::from(lost.are_any());
        lost::add(&mut self.lost, &lost);
        self.numbering = numbering;
        Ok(last)
    }

    /// Takes the records of a chunk that lies in memory.
    fn take_chunk(&mut self, kept: &Kept<'_>, known: Option<Rows>) -> Result<(), &'static str> {
        if kept.entry.thread & MESSAGES != 0 {
            if kept.has_records() {
                let rows = self.rows(kept).ok_or("has a message without an operation")?;
                self.message_blocks.add(&rows, &self.message_numbering, kept.entry.draw, kept.entry.thread);
            }
            return Ok(());
        }
        let interrupted = self.interrupted.remove(&kept.entry.draw);
        if !kept.has_records() {
            self.note(interrupted, kept.entry.thread, &[], kept.readable.as_deref());
            return Ok(());
        }
        let rows = known.or_else(|| self.rows(kept)).ok_or("has a call without an operation")?;
        if kept.entry.thread as usize >= self.tables.threads.len() {
            return Err("has records without a thread");
        }
        self.note(interrupted, kept.entry.thread, &rows.operation, kept.readable.as_deref());
        self.blocks.add(&rows, &self.numbering, kept.entry.draw, kept.entry.thread);
        Ok(())
    }

    fn rows(&self, kept: &Kept<'_>) -> Option<Rows> {
        let load = |column: &ColumnEntry| kept.values(self.header, column);
        let mut rows = live_records::rows(self.header, &kept.entry, load, self, self.clock)?;
        if let Some(readable) = &kept.readable {
            rows.retain(readable);
        }
        Some(rows)
    }

    /// Keeps the interruptions of records that are about to be added; those of records that are not `readable` are left
    /// out. Those behind the last record of a chunk lie before the first one of their thread's next chunk.
    fn note(
        &mut self,
        entries: Option<Vec<&'a InterruptionEntry>>,
        thread: u32,
        operations: &[u32],
        readable: Option<&[bool]>,
    ) {
        let Some(behind) = self.behind.get_mut(thread as usize) else { return };
        let earlier = if operations.is_empty() { Vec::new() } else { std::mem::take(behind) };
        let place = |entry: &'a InterruptionEntry| {
            let record = of_live_record(entry.record).1 as usize;
            Some((lost::place_among(readable, record)?, entry))
        };
        let entries = entries.into_iter().flatten().filter_map(place);
        for (place, entry) in earlier.into_iter().map(|entry| (0, entry)).chain(entries) {
            let Some(operation) = operations.get(place as usize) else {
                behind.push(entry);
                continue;
            };
            // The record of a call that failed was taken back, and is the next call's: it was interrupted before that.
            let between = if operation & INTERRUPTED == 0 { interruption_flags::BETWEEN } else { 0 };
            let record = self.blocks.records + place;
            self.interruptions.push(InterruptionEntry { record, thread, flags: entry.flags | between, ..*entry });
        }
    }
}

impl LiveTables for Reading<'_, '_> {
    fn counted(&self, operation: u32) -> Option<Counted> {
        if !self.is_this_process && self.tables.has_lost(operation) {
            // No record of it is kept: whatever its number, no other's follows from it.
            return Some(Counted { calls: 0, positions_from: 0, on_communicator: None });
        }
        let entry = self.tables.operations.get(operation as usize)?;
        // Many communicators with few calls each have one entry.
        let communicator = self.tables.communicators.get(entry.communicator as usize);
        let counting = communicator.filter(|communicator| communicator.flags & communicator_flags::FOLDED == 0);
        let [calls, positions] = &*self.counted.borrow();
        let position = |communicator: &CommunicatorEntry| {
            positions.get(&entry.communicator).copied().unwrap_or(communicator.calls)
        };
        Some(Counted {
            calls: calls.get(&operation).copied().unwrap_or(entry.calls),
            positions_from: entry.positions_from,
            on_communicator: counting.map(position),
        })
    }

    fn set_counted(&self, operation: u32, repetition: u64, position: Option<u64>) {
        let [calls, positions] = &mut *self.counted.borrow_mut();
        calls.insert(operation, repetition);
        let entry = self.tables.operations.get(operation as usize);
        if let (Some(position), Some(entry)) = (position, entry) {
            positions.insert(entry.communicator, position);
        }
    }

    fn exit(&self, record: u64) -> Option<u64> {
        let (draw, record) = of_live_record(record);
        let of_draw = self.exits.get(&draw)?;
        let up_to = &of_draw[..of_draw.partition_point(|&(known, _)| known <= record)];
        up_to.last().filter(|&&(known, _)| known == record).map(|&(_, exit)| exit)
    }

    fn has_message(&self, operation: u32) -> bool {
        !self.is_this_process || (operation as usize) < self.tables.messages.len()
    }
}

/// The basis of the numbers of message calls: each operation counts for itself.
pub fn message_numbering(operations: usize) -> Numbering {
    Numbering::new(vec![0; operations])
}

/// The records of a block with exits that came later. `None`: none of them did, or it cannot be decoded.
fn with_exits(block: &Block<'_>, late: &[(u32, u64)], clock: Option<&RankClock>) -> Option<Rows> {
    let mut rows = block.rows()?;
    live_records::add_exits(&mut rows, late, clock).then_some(rows)
}

/// The files that blocks of a segment were written to, in order.
///
/// # Errors
/// A damaged segment.
pub fn block_files(path: &Path, bytes: &[u8]) -> Result<Vec<PathBuf>, TraceError> {
    let header = header(path, bytes)?;
    let used = header.strings.used.min(header.strings.capacity).min(in_file(header, table::STRINGS, 1));
    let strings = slice(bytes, header.strings.offset, used);
    let name = |reference: &u32| crate::strings::bytes(strings.filter(|_| *reference != 0)?, *reference);
    Ok(header.blocks.iter().filter_map(name).map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

/// The checked header of a segment.
///
/// # Errors
/// It is no segment, of another version, or its header is damaged.
pub fn header<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a SegmentHeader, TraceError> {
    let damaged = |what: &str| TraceError::damaged(path, what);
    let header: &SegmentHeader = bytes
        .get(..size_of::<SegmentHeader>())
        .and_then(|bytes| bytemuck::try_from_bytes(bytes).ok())
        .ok_or_else(|| damaged("is too short to be a segment"))?;
    if header.magic != SEGMENT_MAGIC || header.byte_order != BYTE_ORDER_MARK {
        return Err(damaged("is not a segment of mpitrace"));
    }
    if header.version != VERSION {
        return Err(damaged(&format!("is of format version {}, this program reads {VERSION}", header.version)));
    }
    let columns = header.rank.columns as usize;
    if columns > MAX_COLUMNS || columns < LIVE_COLUMNS.len() {
        return Err(damaged("describes an impossible number of columns"));
    }
    for (entry, (name, size)) in header.columns.iter().zip(LIVE_COLUMNS) {
        if name_of(&entry.name) != name || entry.element_size != size || entry.on_demand != 0 {
            return Err(damaged("does not have the columns that every record has"));
        }
    }
    if header.rank.world_size > MOST_RANKS {
        return Err(damaged("describes an invalid number of ranks"));
    }
    if header.columns[..columns].iter().any(|entry| ![4, 8].contains(&entry.element_size)) {
        return Err(damaged("has a column of an invalid width"));
    }
    // Chunks that overlap would hold the same records many times over.
    let ends = header.columns[..columns]
        .iter()
        .map(|entry| entry.offset.checked_add(header.chunk_records.checked_mul(entry.element_size.into())?));
    let fits = |end: Option<u64>| end.is_some_and(|end| end <= header.chunk_bytes);
    if header.chunk_records > MAX_CHUNK_RECORDS || !ends.into_iter().all(fits) {
        return Err(damaged("describes chunks that are too short for their columns"));
    }
    Ok(header)
}

/// The records of one chunk.
struct Kept<'a> {
    entry: ChunkEntry,
    chunk: &'a [u8],
    records: u64,
    /// Which of them can be read; `None`: all.
    readable: Option<Vec<bool>>,
}

impl<'a> Kept<'a> {
    /// The kept values of a column that is in use. `None`: the chunk does not hold it.
    fn values(&self, header: &SegmentHeader, entry: &ColumnEntry) -> Option<Vec<u64>> {
        let bytes = column(self.chunk, entry, header.chunk_records)?;
        let kept = ..self.records as usize;
        Some(match entry.element_size {
            4 => bytes.as_chunks().0.get(kept)?.iter().map(|value| u32::from_le_bytes(*value).into()).collect(),
            _ => bytes.as_chunks().0.get(kept)?.iter().map(|value| u64::from_le_bytes(*value)).collect(),
        })
    }

    /// True if there are any that can be read.
    fn has_records(&self) -> bool {
        self.readable.as_ref().map_or(self.records > 0, |readable| readable.contains(&true))
    }
}

/// The place of the column of operations among [`LIVE_COLUMNS`].
const OPERATION: usize = 4;

fn column<'a>(chunk: &'a [u8], entry: &ColumnEntry, records: u64) -> Option<&'a [u8]> {
    slice(chunk, entry.offset, records.checked_mul(entry.element_size as u64)?)
}

/// The partners with calls or messages, behind the first entry, which is there wherever they are counted.
fn used_partners(table: &[PartnerEntry]) -> Vec<PartnerEntry> {
    let is_used = |entry: &PartnerEntry| entry.calls | entry.messages | entry.receives != 0;
    let used = table.iter().enumerate().filter(|(index, entry)| *index == 0 || is_used(entry));
    used.map(|(_, entry)| *entry).collect()
}

/// The calls that were not kept, in the order in which a part has them.
fn histograms(rows: &[Buckets]) -> Vec<HistogramEntry> {
    let of_row = |row: &Buckets| {
        let (histogram, first) = (row.histogram, row.row.min(ROWS as u32 - 1) * ROW as u32);
        let buckets = (first..).zip(row.calls).filter(move |&(_, calls)| histogram != 0 && calls != 0);
        buckets.map(move |(bucket, calls)| ((histogram, bucket), calls))
    };
    // One by one: to collect them the library would need a sort of its own.
    let mut ordered = BTreeMap::new();
    ordered.extend(rows.iter().flat_map(of_row));
    let entry = |((histogram, bucket), calls)| HistogramEntry { histogram, bucket, calls };
    ordered.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests;
