//! Reads a live segment: what the preloaded library keeps in node-local memory while the program runs.
//!
//! One reader serves Finalize, where the segment is the library's own mapping, and `recover`, where it is a file that a
//! killed process left. Nothing in it is trusted: every offset and count is checked against the bytes there are.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::Pod;

use crate::TraceError;
use crate::block_file::BlockReader;
use crate::layout::*;
use crate::live_records::{self, Counted, LiveTables, RankClock};
use crate::packed::{Block, Numbering, Rows};
use crate::part::{Blocks, Content, Times};

/// The content of a segment, in the order in which a part stores it.
///
/// `path` only names the segment in errors. Records that lie in `private` chunks count as lost unless `own` says that
/// this process is the one that filled them.
///
/// # Errors
/// It is no segment, of another version, or damaged.
pub fn read<'a>(path: &Path, bytes: &'a [u8], own: bool) -> Result<Content<'a>, TraceError> {
    read_with(path, bytes, own, Vec::new())
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
    own: bool,
    files: Vec<NamedFile>,
) -> Result<Content<'a>, TraceError> {
    let damaged = |what: &str| TraceError::damaged(path, what);
    let header = header(path, bytes)?;
    let tables = Tables::find(path, bytes, header)?;
    if !own {
        tables.check(&header.rank).map_err(damaged)?;
    }
    let (mut kept, mut lost) = chunks(header, &tables, bytes, own).map_err(damaged)?;
    lost |= !own && files.len() < header.blocks.iter().filter(|name| **name != 0).count();

    let clock = match header.rank.pretended {
        0 => None,
        text => {
            let text = crate::strings::text(tables.strings, text);
            let clock = text.and_then(|text| RankClock::new(&header.rank, &text));
            Some(clock.ok_or_else(|| damaged("has a simulated clock that cannot be read"))?)
        }
    };
    let mut reading = Reading::new(header, &tables, own, clock.as_ref());
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

    let mut columns = live_records::columns(header);
    let mut rank = header.rank;
    if let Some(clock) = &clock {
        columns.extend(live_records::stored_columns(columns.len() as u32, &TRUE_COLUMNS));
        for anchor in [&mut rank.first_anchor, &mut rank.last_anchor] {
            anchor.tick = clock.local(anchor.tick);
        }
    }
    let mut times = Times { rank: header.times, finalize: header.finalize, threads: tables.thread_times.to_vec() };
    if let Some(clock) = &clock {
        let readings = times.threads.iter_mut().flat_map(|thread| &mut thread.processor);
        for tick in readings.map(|reading| &mut reading.tick).chain([&mut times.rank.finalize_enter]) {
            *tick = clock.local(*tick);
        }
    }
    let Reading { blocks, message_blocks, mut interruptions, behind, .. } = reading;
    interruptions.extend(behind.into_iter().flatten().map(|entry| InterruptionEntry { record: NO_RECORD, ..*entry }));
    // By keys of one type, of which the preloaded library has one sort.
    interruptions.sort_by_cached_key(|entry| -> (u64, u64) {
        (entry.record, (entry.flags & interruption_flags::BETWEEN == 0).into())
    });
    Ok(Content {
        rank,
        incomplete: lost || header.rank.state != state::FINALIZED,
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

/// The tables of a segment.
struct Tables<'a> {
    strings: &'a [u8],
    communicators: &'a [CommunicatorEntry],
    operations: &'a [OperationEntry],
    threads: &'a [ThreadEntry],
    thread_times: &'a [ThreadTimes],
    partners: &'a [PartnerEntry],
    messages: &'a [MessageEntry],
    counters: &'a [CounterEntry],
    syncs: &'a [SyncEntry],
    probes: &'a [ProbeEntry],
    interruptions: &'a [InterruptionEntry],
    long_calls: &'a [LongCallEntry],
    chunks: &'a [ChunkEntry],
    histograms: &'a [Buckets],
}

impl<'a> Tables<'a> {
    fn find(path: &Path, bytes: &'a [u8], header: &SegmentHeader) -> Result<Tables<'a>, TraceError> {
        Ok(Tables {
            strings: table(path, bytes, &header.strings, "strings")?,
            communicators: table(path, bytes, &header.communicators, "communicators")?,
            operations: table(path, bytes, &header.operations, "operations")?,
            threads: table(path, bytes, &header.threads, "threads")?,
            thread_times: table(path, bytes, &header.thread_times, "sums of threads")?,
            partners: table(path, bytes, &header.partners, "partners")?,
            messages: table(path, bytes, &header.messages, "messages")?,
            counters: table(path, bytes, &header.counters, "counters")?,
            syncs: table(path, bytes, &header.syncs, "synchronisations")?,
            probes: table(path, bytes, &header.probes, "probes")?,
            interruptions: table(path, bytes, &header.interruptions, "interruptions")?,
            long_calls: table(path, bytes, &header.long_calls, "long calls")?,
            chunks: table(path, bytes, &header.chunks, "chunks")?,
            histograms: table(path, bytes, &header.histograms, "histograms")?,
        })
    }

    /// The conditions that a reader relies on: the segments go when the trace is on disk.
    fn check(&self, rank: &RankHeader) -> Result<(), &'static str> {
        let starting = rank.state == state::STARTING && rank.rank == NO_RANK;
        if rank.rank >= rank.world_size && !starting {
            return Err("has a rank outside its MPI_COMM_WORLD");
        }
        if self.operations.iter().any(|operation| operation.communicator as usize >= self.communicators.len()) {
            return Err("has an operation without a communicator");
        }
        Ok(())
    }

    /// True if the entry of an operation, or of its communicator, was lost: an entry for which the folder had no room
    /// lay in private memory, and the file has zeros in its place, also for the calls, of which there was one. A number
    /// beyond the table is damage, which is not for here.
    fn has_lost(&self, number: u32) -> bool {
        self.operations.get((number & OPERATION_MASK) as usize).is_some_and(|operation| self.is_lost(operation))
    }

    fn is_lost(&self, operation: &OperationEntry) -> bool {
        let communicator = self.communicators.get(operation.communicator as usize);
        operation.calls == 0 || communicator.is_some_and(|communicator| communicator.calls == 0)
    }
}

/// A table of a segment.
fn table<'a, T: Pod>(path: &Path, bytes: &'a [u8], region: &Region, what: &str) -> Result<&'a [T], TraceError> {
    let length = region.used.min(region.capacity).checked_mul(size_of::<T>() as u64);
    let table = length.and_then(|length| slice(bytes, region.offset, length));
    let table =
        table.ok_or_else(|| TraceError::damaged(path, format!("the table of {what} leads out of the segment")))?;
    bytemuck::try_cast_slice(table).map_err(|_| TraceError::damaged(path, "has a table that is not aligned"))
}

/// The chunks with records, and whether records were lost.
fn chunks<'a>(
    header: &SegmentHeader,
    tables: &Tables<'a>,
    bytes: &'a [u8],
    own: bool,
) -> Result<(Vec<Kept<'a>>, bool), &'static str> {
    let (mut kept, mut lost) = (Vec::new(), false);
    for (index, entry) in tables.chunks.iter().enumerate().filter(|(_, entry)| entry.draw != 0) {
        if entry.flags & chunk_flags::PRIVATE != 0 && !own {
            lost = true;
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
            lost = true;
            continue;
        };
        let enter: &[u64] = bytemuck::try_cast_slice(enter).map_err(|_| "a chunk is too short for its columns")?;
        // The entry is stored before the call is forwarded, and records are filled in order.
        let records = enter.partition_point(|&tick| tick != 0) as u64;
        let mut records = Kept { entry: *entry, chunk, records };
        if !own {
            let known = records.known(header, tables).unwrap_or(records.records);
            lost |= known < records.records;
            records.records = known;
        }
        kept.push(records);
    }
    Ok((kept, lost))
}

/// The records that were taken so far, in blocks.
struct Reading<'r, 'a> {
    header: &'r SegmentHeader,
    tables: &'r Tables<'a>,
    numbering: Numbering,
    own: bool,
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
}

impl<'r, 'a> Reading<'r, 'a> {
    fn new(header: &'r SegmentHeader, tables: &'r Tables<'a>, own: bool, clock: Option<&'r RankClock>) -> Self {
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
            own,
            clock,
            exits,
            counted: RefCell::default(),
            interrupted,
            interruptions: Vec::new(),
            behind,
            blocks: Blocks::default(),
            message_numbering: message_numbering(tables.messages.len()),
            message_blocks: Blocks::default(),
        }
    }

    /// Takes the blocks of a file: the draw of the last one. One with a call that is not known ends it.
    fn take_file(&mut self, path: &Path, file: &Arc<File>) -> Result<Option<u64>, TraceError> {
        let unreadable = |error: std::io::Error| match error.kind() {
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                TraceError::damaged(path, "is not a block file of its segment")
            }
            _ => TraceError::io(path, error),
        };
        let may_be_lost = !self.own && self.tables.operations.iter().any(|operation| self.tables.is_lost(operation));
        let numbering = std::mem::take(&mut self.numbering);
        self.blocks.add_file(Arc::clone(file));
        self.message_blocks.add_file(Arc::clone(file));
        let mut reader = BlockReader::new(file, &self.header.rank, &numbering).map_err(unreadable)?;
        let mut last = None;
        while let Some((offset, block)) = reader.next_block().map_err(unreadable)? {
            let highest = block.highest_operation().map_or(usize::MAX, |highest| highest as usize);
            if block.header.thread & MESSAGES != 0 {
                if highest >= self.tables.messages.len() {
                    break;
                }
                self.message_blocks.add_stored(offset, &block);
                last = Some(block.header.draw);
                continue;
            }
            if highest >= numbering.len() || block.header.thread as usize >= self.tables.threads.len() {
                break;
            }
            let draw = block.header.draw;
            let interrupted = self.interrupted.remove(&draw);
            if !self.own || interrupted.is_some() || !self.behind[block.header.thread as usize].is_empty() {
                let Some(operations) = block.operations() else { break };
                if may_be_lost && operations.iter().any(|&number| self.tables.has_lost(number)) {
                    break;
                }
                self.note(interrupted, block.header.thread, &operations);
            }
            match self.exits.get(&draw).and_then(|late| with_exits(&block, late, self.clock)) {
                Some(rows) => self.blocks.add(&rows, &numbering, draw, block.header.thread),
                None => self.blocks.add_stored(offset, &block),
            }
            last = Some(draw);
        }
        self.numbering = numbering;
        Ok(last)
    }

    /// Takes the records of a chunk that lies in memory.
    fn take_chunk(&mut self, kept: &Kept<'_>, known: Option<Rows>) -> Result<(), &'static str> {
        if kept.entry.thread & MESSAGES != 0 {
            if kept.records > 0 {
                let rows = self.rows(kept).ok_or("has a message without an operation")?;
                self.message_blocks.add(&rows, &self.message_numbering, kept.entry.draw, kept.entry.thread);
            }
            return Ok(());
        }
        let interrupted = self.interrupted.remove(&kept.entry.draw);
        if kept.records == 0 {
            self.note(interrupted, kept.entry.thread, &[]);
            return Ok(());
        }
        let rows = known.or_else(|| self.rows(kept)).ok_or("has a call without an operation")?;
        if kept.entry.thread as usize >= self.tables.threads.len() {
            return Err("has records without a thread");
        }
        self.note(interrupted, kept.entry.thread, &rows.operation);
        self.blocks.add(&rows, &self.numbering, kept.entry.draw, kept.entry.thread);
        Ok(())
    }

    fn rows(&self, kept: &Kept<'_>) -> Option<Rows> {
        let load = |column: &ColumnEntry| kept.values(self.header, column);
        live_records::rows(self.header, &kept.entry, load, self, self.clock)
    }

    /// Keeps the interruptions of records that are about to be added. Those behind the last record of a chunk lie before
    /// the first one of their thread's next chunk.
    fn note(&mut self, entries: Option<Vec<&'a InterruptionEntry>>, thread: u32, operations: &[u32]) {
        let Some(behind) = self.behind.get_mut(thread as usize) else { return };
        let earlier = if operations.is_empty() { Vec::new() } else { std::mem::take(behind) };
        let entries = entries.into_iter().flatten().map(|entry| (of_live_record(entry.record).1.into(), entry));
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
        (operation as usize) < self.tables.messages.len()
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
    let strings = slice(bytes, header.strings.offset, header.strings.used.min(header.strings.capacity));
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

/// The records of one chunk that are kept.
#[derive(Clone, Copy)]
struct Kept<'a> {
    entry: ChunkEntry,
    chunk: &'a [u8],
    records: u64,
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

    /// How many records there are before the first one whose operation or communicator was lost ([`Tables::has_lost`]).
    /// `None`: the chunk does not hold it.
    fn known(&self, header: &SegmentHeader, tables: &Tables<'_>) -> Option<u64> {
        let numbers = self.values(header, &header.columns[OPERATION])?;
        let lost = numbers.iter().position(|&number| match self.entry.thread & MESSAGES {
            0 => tables.has_lost(number as u32),
            _ => tables.messages.get((number as u32 & OPERATION_MASK) as usize).is_some_and(|entry| entry.calls == 0),
        });
        Some(lost.unwrap_or(numbers.len()) as u64)
    }
}

/// The place of the column of operations among [`LIVE_COLUMNS`].
const OPERATION: usize = 4;

fn slice(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
}

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
mod tests {
    use bytemuck::Zeroable;

    use super::*;

    const RECORDS: u64 = 16;
    const CHUNKS: u64 = 3;

    /// A segment of three chunks, all of them full.
    fn segment() -> (SegmentHeader, Vec<u64>) {
        let mut header = SegmentHeader {
            magic: SEGMENT_MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER_MARK,
            rank: RankHeader { columns: LIVE_COLUMNS.len() as u32, world_size: 2, ..RankHeader::zeroed() },
            chunk_records: RECORDS,
            chunk_bytes: PAGE,
            records_offset: 2 * PAGE,
            chunks: Region { offset: PAGE, capacity: CHUNKS, used: CHUNKS },
            ..SegmentHeader::zeroed()
        };
        let mut offset = 0;
        for (entry, (name, size)) in header.columns.iter_mut().zip(LIVE_COLUMNS) {
            *entry = ColumnEntry { name: name_bytes(name), element_size: size, on_demand: 0, offset };
            offset += RECORDS * u64::from(size);
        }
        // Each record has an entry, and returned.
        let returned = u64::from(DURATION_FROM);
        let mut words = vec![returned << 32 | returned; ((2 + CHUNKS) * PAGE / 8) as usize];
        // Two operations of one communicator, in the page of the chunks' entries; the second one has no bytes.
        header.communicators = Region { offset: PAGE + 1024, capacity: 1, used: 1 };
        header.operations = Region { offset: PAGE + 2048, capacity: 2, used: 2 };
        header.threads = Region { offset: PAGE + 3072, capacity: 1, used: 1 };
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[PAGE as usize..2 * PAGE as usize].fill(0);
        let entries: Vec<ChunkEntry> = (1..=CHUNKS).map(|draw| ChunkEntry { draw, ..ChunkEntry::zeroed() }).collect();
        put(&mut words, PAGE, &entries);
        put(&mut words, header.communicators.offset, &[CommunicatorEntry { calls: 48, ..Zeroable::zeroed() }]);
        put(&mut words, header.operations.offset, &[OperationEntry { calls: 48, ..Zeroable::zeroed() }]);
        for chunk in 0..CHUNKS {
            let column = (2 + chunk) * PAGE + header.columns[OPERATION].offset;
            put(&mut words, column, &[0u32; RECORDS as usize]);
        }
        (header, words)
    }

    fn put<T: bytemuck::NoUninit>(words: &mut [u64], offset: u64, values: &[T]) {
        bytemuck::cast_slice_mut::<u64, u8>(words)[offset as usize..][..size_of_val(values)]
            .copy_from_slice(bytemuck::cast_slice(values));
    }

    fn read(header: &SegmentHeader, mut words: Vec<u64>) -> Result<u64, String> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        bytes[..size_of::<SegmentHeader>()].copy_from_slice(bytemuck::bytes_of(header));
        super::read(Path::new("a"), bytes, false).map(|content| content.records()).map_err(|error| error.to_string())
    }

    #[test]
    fn chunks_that_overlap_are_refused() {
        let (header, words) = segment();
        assert_eq!(read(&header, words.clone()), Ok(CHUNKS * RECORDS));
        let of = |change: fn(&mut SegmentHeader)| {
            let mut header = header;
            change(&mut header);
            read(&header, words.clone())
        };
        let refused = Err("a: describes chunks that are too short for their columns".to_owned());
        assert_eq!(of(|header| header.chunk_bytes = 0), refused);
        assert_eq!(of(|header| header.chunk_bytes = 24 * RECORDS - 1), refused);
        assert_eq!(of(|header| header.chunk_records = MAX_CHUNK_RECORDS + 1), refused);
        assert_eq!(of(|header| header.chunk_records = u64::MAX / 2), refused);
        assert_eq!(of(|header| header.columns[3].offset = u64::MAX), refused);
        let many = of(|header| header.rank.world_size = u32::MAX);
        assert_eq!(many, Err("a: describes an invalid number of ranks".to_owned()));
    }

    #[test]
    fn records_whose_operation_was_in_private_memory_are_lost() {
        let (header, mut words) = segment();
        // The fifth record of the second chunk is of the second operation.
        put(&mut words, 3 * PAGE + header.columns[OPERATION].offset + 4 * 4, &[1u32]);
        assert_eq!(read(&header, words), Ok(2 * RECORDS + 4));
    }

    #[test]
    fn the_last_exit_of_a_long_call_counts_in_whatever_order_they_are() {
        let (mut header, mut words) = segment();
        header.long_calls = Region { offset: PAGE + 3504, capacity: 5, used: 5 };
        let long = |(draw, record, exit)| LongCallEntry { record: live_record(draw, record), exit };
        put(&mut words, PAGE + 3504, &[(2, 5, 1), (2, 3, 2), (7, 3, 3), (2, 0, 4), (2, 3, 5)].map(long));
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let tables = Tables::find(Path::new("a"), bytes, &header).unwrap();
        let reading = Reading::new(&header, &tables, false, None);
        let exit = |draw, record| reading.exit(live_record(draw, record));
        assert_eq!([0, 1, 3, 4, 5, 6].map(|record| exit(2, record)), [Some(4), None, Some(5), None, Some(1), None]);
        assert_eq!([exit(7, 3), exit(1, 3)], [Some(3), None]);
    }

    /// The blocks of a file, one of which lacks a column, then those of the chunks in memory: every column of the part
    /// has a value for each record, and the exit that came late.
    #[test]
    fn blocks_of_files_and_chunks_in_memory_are_one_part() {
        let (mut header, mut words) = segment();
        // The last block of the file is of the chunk that was drawn first, and is not withdrawn yet.
        let first = |draw: u64| Rows {
            enter: (0..RECORDS).map(|record| 1000 * draw + 10 * record).collect(),
            exit: (0..RECORDS).map(|record| if record == 3 { 0 } else { 1000 * draw + 10 * record + 5 }).collect(),
            position: (0..RECORDS).collect(),
            repetition: (0..RECORDS).collect(),
            operation: vec![0; RECORDS as usize],
            others: Vec::new(),
        };
        let with_counter = Rows { others: vec![(5, vec![9; RECORDS as usize])], ..first(8) };
        let numbering = Numbering::new(vec![0]);
        let mut bytes = bytemuck::bytes_of(&crate::block_file::BlockFileHeader::new(&header.rank)).to_vec();
        for (draw, rows) in [(7, first(7)), (8, with_counter), (1, first(1))] {
            bytes.extend(rows.pack(&numbering, draw, 0));
        }
        let whole = bytes.len();
        // What a kill leaves of a block that was being written.
        bytes.extend(&first(9).pack(&numbering, 9, 0)[..50]);
        let path = std::env::temp_dir().join(format!("mpitrace-segment-blocks-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();

        let counter = ColumnEntry { name: name_bytes("counter 0"), element_size: 8, on_demand: 4, offset: 2000 };
        header.columns[LIVE_COLUMNS.len()] = counter;
        header.rank.columns += 1;
        header.long_calls = Region { offset: PAGE + 3500, capacity: 1, used: 1 };
        header.long_calls.offset = round_up(header.long_calls.offset, 8);
        put(&mut words, header.long_calls.offset, &[LongCallEntry { record: live_record(7, 3), exit: 4321 }]);
        header.interruptions = Region { offset: PAGE + 3600, capacity: 2, used: 2 };
        let interruption = |draw, record| InterruptionEntry { record: live_record(draw, record), ..Zeroable::zeroed() };
        put(&mut words, header.interruptions.offset, &[interruption(2, 4), interruption(8, 1)]);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        bytes[..size_of::<SegmentHeader>()].copy_from_slice(bytemuck::bytes_of(&header));
        let file = File::open(&path).unwrap();
        let content = read_with(Path::new("a"), bytes, false, vec![(path.clone(), Arc::new(file))]).unwrap();
        assert_eq!(content.records(), 5 * RECORDS, "three blocks and two chunks");
        let records: Vec<u64> = content.interruptions.iter().map(|entry| entry.record).collect();
        assert_eq!(records, [RECORDS + 1, 3 * RECORDS + 4]);

        let written = path.with_extension("part");
        let part = File::options().read(true).write(true).create(true).truncate(true).open(&written).unwrap();
        content.write_at(&part, 0).unwrap();
        let bytes = std::fs::read(&written).unwrap();
        assert_eq!(bytes.len() as u64, content.length());
        let start = bytes.windows(8).rposition(|window| window == 7u64.to_le_bytes()).unwrap() - 8;
        let mut rest = &bytes[start..];
        let mut blocks = Vec::new();
        while let Some(block) = Block::parse(rest, &numbering) {
            assert!(block.has_its_checksum());
            blocks.push((block.header.draw, block.rows().unwrap()));
            rest = &rest[block.bytes().len()..];
        }
        assert_eq!(blocks.iter().map(|(draw, _)| *draw).collect::<Vec<_>>(), [7, 8, 1, 2, 3]);
        assert_eq!((blocks[0].1.exit[3], blocks[1].1.exit[3]), (4321, 0));
        assert_eq!(blocks[1].1.others, [(5, vec![9; RECORDS as usize])]);
        assert!(content.columns.iter().any(|column| name_of(&column.name) == "counter 0" && column.number == 5));
        std::fs::write(&path, &std::fs::read(&path).unwrap()[..whole - 1]).unwrap();
        let file = vec![(path.clone(), Arc::new(File::open(&path).unwrap()))];
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let content = read_with(Path::new("a"), bytes, false, file).unwrap();
        assert_eq!(content.records(), 5 * RECORDS, "two blocks and three chunks");
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(&written).unwrap();
    }
}
