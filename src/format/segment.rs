//! Reads a live segment: what the preloaded library keeps in node-local memory while the program runs.
//!
//! The same reading serves Finalize, where the segment is the library's own mapping, and `recover`, where it is a file
//! that a killed process left. Nothing in it is trusted: every offset and count is checked against the bytes there are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::mem::take;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::TraceError;
use crate::histograms::Histograms;
use crate::layout::*;
use crate::live_records::{self, Records};
use crate::packed::Columns;
use crate::part::{Column, Content};
use crate::spill::Unit;
use crate::spilled::{Spilled, operations_of};
use crate::ticks::SimulatedClock;

/// What a segment holds, in the order in which a part stores it.
///
/// `path` only names the segment in errors. Records that lie in `private` chunks count as lost unless `own` says that
/// this process is the one that filled them.
///
/// # Errors
/// It is no segment, of another version, or damaged.
pub fn read<'a>(path: &Path, bytes: &'a [u8], own: bool) -> Result<Content<'a>, TraceError> {
    read_with(path, bytes, own, None)
}

/// The same, with the records in its spill file, if it has one.
///
/// # Errors
/// A damaged segment; a spill file that cannot be read, or is another segment's.
pub fn read_with<'a>(
    path: &Path,
    bytes: &'a [u8],
    own: bool,
    spill: Option<(PathBuf, File)>,
) -> Result<Content<'a>, TraceError> {
    let damaged = |what: &str| TraceError::damaged(path, what);
    let header = header(path, bytes)?;
    let table = |region: &Region, size: usize, what: &str| -> Result<&'a [u8], TraceError> {
        let length = region.used.min(region.capacity).checked_mul(size as u64);
        length
            .and_then(|length| slice(bytes, region.offset, length))
            .ok_or_else(|| damaged(&format!("the table of {what} leads out of the segment")))
    };

    let strings = table(&header.strings, 1, "strings")?;
    let communicators = table(&header.communicators, size_of::<CommunicatorEntry>(), "communicators")?;
    let operations = table(&header.operations, size_of::<OperationEntry>(), "operations")?;
    let threads = table(&header.threads, size_of::<ThreadEntry>(), "threads")?;
    let counters = table(&header.counters, size_of::<CounterEntry>(), "counters")?;
    let syncs = table(&header.syncs, size_of::<SyncEntry>(), "synchronisations")?;
    let probes = table(&header.probes, size_of::<ProbeEntry>(), "probes")?;
    let interruptions = table(&header.interruptions, size_of::<InterruptionEntry>(), "interruptions")?;
    let long_calls = table(&header.long_calls, size_of::<LongCallEntry>(), "long calls")?;
    let chunks = table(&header.chunks, size_of::<ChunkEntry>(), "chunks")?;
    let histograms = table(&header.histograms, size_of::<Buckets>(), "histograms")?;
    let chunks: &[ChunkEntry] =
        bytemuck::try_cast_slice(chunks).map_err(|_| damaged("the table of chunks is not aligned"))?;

    let not_aligned = |_| damaged("a table is not aligned");
    let communicator_entries: &[CommunicatorEntry] = bytemuck::try_cast_slice(communicators).map_err(not_aligned)?;
    let operation_entries: &[OperationEntry] = bytemuck::try_cast_slice(operations).map_err(not_aligned)?;
    let tables = Tables { operations: operation_entries, communicators: communicator_entries };
    let mut kept = Vec::new();
    let mut lost = header.spill != 0 && !own && spill.is_none();
    for (index, entry) in chunks.iter().enumerate().filter(|(_, entry)| entry.draw != 0) {
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
        let enter: &[u64] =
            bytemuck::try_cast_slice(enter).map_err(|_| damaged("a chunk is too short for its columns"))?;
        // The entry is stored before the call is forwarded, and records are filled in order.
        let records = enter.partition_point(|&tick| tick != 0) as u64;
        let mut records = Kept { draw: entry.draw, thread: entry.thread, flags: entry.flags, chunk, first: 0, records };
        if !own {
            let known = records.known(header, &tables).unwrap_or(records.records);
            lost |= known < records.records;
            records.records = known;
        }
        kept.push(records);
    }
    let long_calls: &[LongCallEntry] = bytemuck::try_cast_slice(long_calls).map_err(not_aligned)?;
    let spilled = match spill {
        Some((path, file)) => Some(spilled_records(&path, file, header, &tables, own, interruptions, long_calls)?),
        None => None,
    };
    // The last unit may be of a chunk that was not withdrawn yet.
    kept.retain(|kept| spilled.as_ref().is_none_or(|(spilled, _)| spilled.last_draw != Some(kept.draw)));
    let spilled = spilled.filter(|(spilled, _)| spilled.records() > 0);
    // Where the first calls may be gone, numbers follow from the counts at the end.
    let are_last = header.rank.ring != full::STOP;
    let mut histograms = Histograms::of(bytemuck::try_cast_slice(histograms).map_err(not_aligned)?);
    let mut counted = Cow::Borrowed(operations);
    if header.rank.ring == full::RING {
        let cut = trim(&mut kept, header.rank.capacity);
        counted = count_cut(&cut, header, operation_entries, long_calls, &mut histograms)
            .ok_or_else(|| damaged("a chunk is too short for its columns"))?;
    }
    kept.sort_by_key(|kept| (kept.thread, kept.draw));
    kept.retain(|kept| kept.records > 0);

    let not_held = || damaged("a chunk is too short for its columns");
    let mut derived = {
        let records = kept.iter().map(|kept| kept.records(header)).collect::<Option<Vec<_>>>().ok_or_else(not_held)?;
        live_records::derive(are_last, &records, operation_entries, communicator_entries, long_calls)
    };
    let mut columns = vec![
        in_slices(&kept, header, 0).ok_or_else(not_held)?,
        made(1, derived.iter_mut().map(|derived| take(&mut derived.exit))),
        made(2, derived.iter_mut().map(|derived| take(&mut derived.position))),
        made(3, derived.iter_mut().map(|derived| take(&mut derived.repetition))),
        in_slices(&kept, header, OPERATION).ok_or_else(not_held)?,
    ];
    drop(derived);
    let of_spilled = spilled.as_ref().map_or(0, |(spilled, _)| spilled.flags);
    let any = kept.iter().fold(of_spilled, |flags, kept| flags | kept.flags);
    for (index, entry) in header.columns.iter().enumerate().take(header.rank.columns as usize).skip(LIVE_COLUMNS.len())
    {
        if is_in_use(entry, any) && name_of(&entry.name) != ABOVE {
            columns.push(in_slices(&kept, header, index).ok_or_else(not_held)?);
        }
    }
    let mut rank = RankHeader { columns: columns.len() as u32, ..header.rank };
    if rank.pretended != 0 {
        if spilled.is_some() {
            return Err(damaged("has spilled records under a pretended clock"));
        }
        pretend(&mut rank, strings, &mut columns)
            .ok_or_else(|| damaged("has a simulated clock that cannot be read"))?;
    }

    let (mut spilled, of_spilled) = spilled.unzip();
    let before = spilled.as_ref().map_or(0, Spilled::records);
    let mut interruptions = of_kept_records(interruptions, &kept, &columns, before)
        .ok_or_else(|| damaged("has a table of interruptions that is not aligned"))?;
    interruptions.extend(of_spilled.into_iter().flatten());
    interruptions.sort_by_key(|entry| (entry.record, entry.flags & interruption_flags::BETWEEN == 0));
    let mut runs = spilled.as_mut().map(|spilled| take(&mut spilled.runs)).unwrap_or_default();
    runs.extend(kept.iter().map(|kept| RunEntry { count: kept.records, thread: kept.thread, padding: 0 }));
    if let Some(spilled) = &mut spilled {
        spilled.take(&mut columns, any, operation_entries).ok_or_else(|| damaged("has a call without an operation"))?;
    }

    Ok(Content {
        rank,
        incomplete: lost || header.rank.state != state::FINALIZED,
        metadata: crate::strings::bytes(strings, header.metadata).unwrap_or_default(),
        strings,
        communicators,
        operations: counted,
        threads,
        counters,
        syncs,
        probes,
        interruptions,
        histograms: histograms.entries(),
        runs,
        columns,
        spilled,
    })
}

/// Whether a column has memory in a chunk with these flags.
fn is_in_use(entry: &ColumnEntry, flags: u32) -> bool {
    entry.on_demand == 0 || flags & entry.on_demand != 0
}

/// The column of this number, as it lies in the chunks. `None`: a chunk does not hold it.
fn in_slices<'a>(kept: &[Kept<'a>], header: &SegmentHeader, index: usize) -> Option<Column<'a>> {
    let ColumnEntry { name, element_size, .. } = header.columns[index];
    let slices = kept.iter().map(|kept| kept.column(header, index).map(Cow::Borrowed));
    Some(Column { name, element_size, slices: slices.collect::<Option<_>>()? })
}

/// The column of this number among [`COLUMNS`], of values that were made for each chunk.
fn made<'a>(index: usize, values: impl Iterator<Item = Vec<u64>>) -> Column<'a> {
    let (name, element_size) = COLUMNS[index];
    let slices = values.map(|values| Cow::Owned(bytemuck::cast_slice(&values).to_vec())).collect();
    Column { name: name_bytes(name), element_size, slices }
}

/// The interruptions of records that are kept, with their places among these, `before` others lying before them. `None`:
/// the bytes are not aligned.
fn of_kept_records(
    bytes: &[u8],
    kept: &[Kept<'_>],
    columns: &[Column<'_>],
    mut before: u64,
) -> Option<Vec<InterruptionEntry>> {
    let entries: &[InterruptionEntry] = bytemuck::try_cast_slice(bytes).ok()?;
    let mut places = HashMap::with_capacity(kept.len());
    for (slice, kept) in kept.iter().enumerate() {
        places.insert(kept.draw, (slice, before, kept));
        before += kept.records;
    }
    let found = entries
        .iter()
        .filter_map(|entry| {
            let (draw, record) = of_live_record(entry.record);
            let &(slice, before, kept) = places.get(&draw)?;
            let in_slice = u64::from(record).checked_sub(kept.first).filter(|&record| record < kept.records)?;
            let place = in_slice as usize * 4;
            let operation: u32 =
                bytemuck::pod_read_unaligned(columns.get(OPERATION)?.slices[slice].get(place..place + 4)?);
            Some(of_record(entry, before + in_slice, kept.thread, operation))
        })
        .collect();
    Some(found)
}

/// An interruption as a part has it: of this record, with this value in the column of operations.
fn of_record(entry: &InterruptionEntry, record: u64, thread: u32, operation: u32) -> InterruptionEntry {
    // The record of a call that failed was taken back, and is the next call's: it was interrupted before that.
    let between = if operation & INTERRUPTED == 0 { interruption_flags::BETWEEN } else { 0 };
    InterruptionEntry { record, thread, flags: entry.flags | between, ..*entry }
}

/// The tables that records refer to.
struct Tables<'a> {
    operations: &'a [OperationEntry],
    communicators: &'a [CommunicatorEntry],
}

impl Tables<'_> {
    /// Whether the entry of an operation, or of its communicator, was lost: an entry for which the folder had no room
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

/// The records in the spill file, and the interruptions of these.
fn spilled_records(
    path: &Path,
    file: File,
    header: &SegmentHeader,
    tables: &Tables<'_>,
    own: bool,
    interruptions: &[u8],
    long_calls: &[LongCallEntry],
) -> Result<(Spilled, Vec<InterruptionEntry>), TraceError> {
    let entries: &[InterruptionEntry] = bytemuck::try_cast_slice(interruptions)
        .map_err(|_| TraceError::damaged(path, "has a table of interruptions that is not aligned"))?;
    let mut by_draw: HashMap<u64, Vec<&InterruptionEntry>> = HashMap::new();
    entries.iter().for_each(|entry| by_draw.entry(of_live_record(entry.record).0).or_default().push(entry));
    let columns = Columns::new(COLUMNS.into_iter(), tables.operations);
    let may_be_lost = !own && tables.operations.iter().any(|operation| tables.is_lost(operation));
    let mut found = Vec::new();
    let mut is_known = |unit: &Unit<'_>, first: u64| {
        let of_unit = by_draw.remove(&unit.header.draw);
        if own && of_unit.is_none() {
            return true;
        }
        let Some(operations) = operations_of(unit, &columns, header.chunk_records) else { return false };
        let is_wrong = |&number: &u32| {
            (number & OPERATION_MASK) as usize >= tables.operations.len() || may_be_lost && tables.has_lost(number)
        };
        if operations.iter().any(is_wrong) {
            return false;
        }
        for entry in of_unit.into_iter().flatten() {
            let record = of_live_record(entry.record).1;
            if let Some(&operation) = operations.get(record as usize) {
                found.push(of_record(entry, first + u64::from(record), unit.header.thread, operation));
            }
        }
        true
    };
    let spilled = Spilled::of(file, header, long_calls, &mut is_known).map_err(|error| match error.kind() {
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
            TraceError::damaged(path, "is not the spill file of its segment")
        }
        _ => TraceError::io(path, error),
    })?;
    Ok((spilled, found))
}

/// The place of the column of operations among [`COLUMNS`] and [`LIVE_COLUMNS`].
const OPERATION: usize = 4;

/// Turns true ticks into those of the rank's simulated clock, and keeps the true ones beside them. The way of a call
/// knows nothing of simulated clocks; what is probed reads them already.
fn pretend(rank: &mut RankHeader, strings: &[u8], columns: &mut Vec<Column<'_>>) -> Option<()> {
    let clock = crate::strings::text(strings, rank.pretended).and_then(|text| SimulatedClock::parse(&text))?;
    let (epoch, hz) = (rank.pretended_epoch, rank.pretended_hz);
    let local = |tick: u64| if tick == 0 { 0 } else { clock.local(tick, epoch, hz) };
    let mut kept = Vec::new();
    for (column, (name, element_size)) in columns.iter_mut().zip(TRUE_COLUMNS) {
        // The first two: enter and exit.
        let converted = column.slices.iter().map(|slice| {
            let ticks = slice.chunks_exact(8).map(bytemuck::pod_read_unaligned);
            Cow::Owned(ticks.flat_map(|tick| local(tick).to_le_bytes()).collect())
        });
        let converted = converted.collect();
        let slices = std::mem::replace(&mut column.slices, converted);
        kept.push(Column { name: name_bytes(name), element_size, slices });
    }
    columns.extend(kept);
    for anchor in [&mut rank.first_anchor, &mut rank.last_anchor] {
        anchor.tick = local(anchor.tick);
    }
    Some(())
}

/// The file that records of a segment were spilled to; `None`: there is none.
///
/// # Errors
/// A damaged segment.
pub fn spill_file(path: &Path, bytes: &[u8]) -> Result<Option<PathBuf>, TraceError> {
    let header = header(path, bytes)?;
    let strings = slice(bytes, header.strings.offset, header.strings.used.min(header.strings.capacity));
    let name = strings.filter(|_| header.spill != 0).and_then(|strings| crate::strings::bytes(strings, header.spill));
    Ok(name.map(|name| PathBuf::from(OsStr::from_bytes(name))))
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

/// Stands for a column that is not in use, of the longest chunk and the widest element.
static ZEROS: [u8; MAX_CHUNK_RECORDS as usize * 8] = [0; MAX_CHUNK_RECORDS as usize * 8];

/// The records of one chunk that are kept.
#[derive(Clone, Copy)]
struct Kept<'a> {
    draw: u64,
    thread: u32,
    flags: u32,
    chunk: &'a [u8],
    first: u64,
    records: u64,
}

impl<'a> Kept<'a> {
    /// The kept values of the column of this number. `None`: the chunk does not hold it.
    fn column(&self, header: &SegmentHeader, index: usize) -> Option<&'a [u8]> {
        let entry = &header.columns[index];
        let size = entry.element_size as usize;
        let all = match is_in_use(entry, self.flags) {
            true => column(self.chunk, entry, header.chunk_records),
            // Memory that was never taken is not read: that would take it.
            false => ZEROS.get(..(header.chunk_records as usize).checked_mul(size)?),
        };
        all?.get(self.first as usize * size..(self.first + self.records) as usize * size)
    }

    /// How many records there are before the first one whose operation or communicator was lost ([`Tables::has_lost`]).
    /// `None`: the chunk does not hold it.
    fn known(&self, header: &SegmentHeader, tables: &Tables<'_>) -> Option<u64> {
        let numbers: &[u32] = bytemuck::try_cast_slice(self.column(header, OPERATION)?).ok()?;
        Some(numbers.iter().position(|&number| tables.has_lost(number)).unwrap_or(numbers.len()) as u64)
    }

    /// What positions, repetitions and exits are made of. `None`: the chunk does not hold it.
    fn records(&self, header: &SegmentHeader) -> Option<Records<'a>> {
        let number = |index| bytemuck::try_cast_slice::<u8, u32>(self.column(header, index)?).ok();
        let columns = &header.columns[..header.rank.columns as usize];
        let above = columns.iter().position(|entry| name_of(&entry.name) == ABOVE);
        let above = above.filter(|&index| is_in_use(&columns[index], self.flags));
        Some(Records {
            thread: self.thread,
            draw: self.draw,
            first: self.first,
            enter: bytemuck::try_cast_slice(self.column(header, 0)?).ok()?,
            duration: number(1)?,
            position: number(2)?,
            repetition: number(3)?,
            operation: number(OPERATION)?,
            above: match above {
                Some(index) => Some(number(index)?),
                None => None,
            },
        })
    }
}

/// Leaves the last `capacity` records: under `ring` there is one chunk more than the capacity needs, so that the
/// records of the chunk being refilled are not missed. Returns those that are left out.
fn trim<'a>(kept: &mut [Kept<'a>], capacity: u64) -> Vec<Kept<'a>> {
    kept.sort_by_key(|kept| kept.draw);
    let mut excess = kept.iter().map(|kept| kept.records).sum::<u64>().saturating_sub(capacity);
    let mut left_out = Vec::new();
    for kept in kept {
        let cut = excess.min(kept.records);
        left_out.push(Kept { records: cut, ..*kept });
        kept.first += cut;
        kept.records -= cut;
        excess -= cut;
    }
    left_out.retain(|kept| kept.records > 0);
    left_out
}

/// Counts records that are left out as calls that were not kept: the operations with what this adds. `None`: a chunk
/// does not hold its columns.
fn count_cut<'a>(
    cut: &[Kept<'a>],
    header: &SegmentHeader,
    operations: &'a [OperationEntry],
    long_calls: &[LongCallEntry],
    histograms: &mut Histograms,
) -> Option<Cow<'a, [u8]>> {
    if cut.is_empty() {
        return Some(Cow::Borrowed(bytemuck::cast_slice(operations)));
    }
    let mut operations = operations.to_vec();
    for kept in cut {
        let records = kept.records(header)?;
        let exits = live_records::exits(&records, &live_records::by_record(long_calls));
        for ((&enter, exit), number) in records.enter.iter().zip(exits).zip(records.operation) {
            let operation = operations.get_mut((number & OPERATION_MASK) as usize);
            // A call that did not return took no time that is known.
            if let Some(operation) = operation.filter(|_| exit != 0) {
                histograms.add(operation, exit.saturating_sub(enter));
            }
        }
    }
    Some(Cow::Owned(bytemuck::cast_slice(&operations).to_vec()))
}

fn slice(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
}

fn column<'a>(chunk: &'a [u8], entry: &ColumnEntry, records: u64) -> Option<&'a [u8]> {
    slice(chunk, entry.offset, records.checked_mul(entry.element_size as u64)?)
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
        let entries: Vec<ChunkEntry> = (1..=CHUNKS).map(|draw| ChunkEntry { draw, ..ChunkEntry::zeroed() }).collect();
        let start = PAGE as usize;
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[start..start + size_of_val(&*entries)]
            .copy_from_slice(bytemuck::cast_slice(&entries));
        (header, words)
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
        let (mut header, mut words) = segment();
        // Two operations of one communicator, in the page of the chunks' entries. The second one has no bytes in the file.
        let place = |index: u64| PAGE + 1024 + index * 1024;
        header.communicators = Region { offset: place(0), capacity: 1, used: 1 };
        header.operations = Region { offset: place(1), capacity: 2, used: 2 };
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        bytes[place(0) as usize..][..2048].fill(0);
        let communicator = CommunicatorEntry { calls: 1, ..Zeroable::zeroed() };
        bytes[place(0) as usize..][..size_of_val(&communicator)].copy_from_slice(bytemuck::bytes_of(&communicator));
        let operation = OperationEntry { calls: 40, ..Zeroable::zeroed() };
        bytes[place(1) as usize..][..size_of_val(&operation)].copy_from_slice(bytemuck::bytes_of(&operation));
        for chunk in 0..CHUNKS {
            let column = (2 + chunk) * PAGE + header.columns[OPERATION].offset;
            bytes[column as usize..][..RECORDS as usize * 4].fill(0);
        }
        assert_eq!(read(&header, words.clone()), Ok(CHUNKS * RECORDS));

        // The fifth record of the second chunk is of the second operation.
        let record = 3 * PAGE + header.columns[OPERATION].offset + 4 * 4;
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[record as usize] = 1;
        assert_eq!(read(&header, words), Ok(2 * RECORDS + 4));
    }
}
