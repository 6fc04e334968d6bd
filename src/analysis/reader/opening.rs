//! Opens the file of a trace and checks all that a reader relies on.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use memmap2::Mmap;
use mpitrace_format::layout::*;
use mpitrace_format::{TraceError, file, part};

use super::part::{ColumnPlace, Part, Place};
use super::single::Identity;
use crate::packed::{Columns, PackedSection};
use crate::parallel;

/// The versions of files and parts that can be read.
const KNOWN: RangeInclusive<u32> = OLDEST_VERSION..=PACKED_VERSION;
/// From so many parts on, whole parts are shared out among the processors.
const SHARED_OUT: usize = 256;
/// Bytes whose checksum one processor takes at a time.
const CHECKED_AT_ONCE: usize = 4 << 20;

/// No part has more sections: a table of each kind, and the columns. Each of them could be the whole part.
const MOST_SECTIONS: u32 = 2 * MAX_COLUMNS as u32;

/// A trace's file, its frame checked.
pub(crate) struct MappedFile {
    pub(crate) map: Arc<Mmap>,
    /// What the file system said of it before it was read.
    pub(crate) metadata: Metadata,
    pub(crate) header: FileHeader,
    pub(crate) entries: Vec<PartEntry>,
}

/// Maps a file and checks its frame.
pub(crate) fn map_file(path: &Path) -> Result<MappedFile, TraceError> {
    // Not blocking: a pipe without a writer would hold us here.
    let opened = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = opened.map_err(|error| TraceError::io(path, error))?;
    let metadata = file.metadata().map_err(|error| TraceError::io(path, error))?;
    if !metadata.is_file() {
        return Err(TraceError::damaged(path, "is not a file"));
    }
    if metadata.len() < size_of::<FileHeader>() as u64 {
        return Err(TraceError::damaged(path, "is too short to be a trace"));
    }
    // SAFETY: the mapping is read-only and private to this process. Another process that shortens the file meanwhile
    // would raise SIGBUS, as with every mapped file; traces are not written in place once they have their name.
    let map = Arc::new(unsafe { Mmap::map(&file) }.map_err(|error| TraceError::io(path, error))?);
    let header: FileHeader = bytemuck::pod_read_unaligned(&map[..size_of::<FileHeader>()]);
    if header.magic != FILE_MAGIC || header.byte_order != BYTE_ORDER_MARK {
        return Err(TraceError::damaged(path, "is not a trace of mpitrace"));
    }
    if !KNOWN.contains(&header.version) {
        let what = format!(
            "is of format version {}, this program reads {} to {}: use the mpitrace that wrote it",
            header.version,
            KNOWN.start(),
            KNOWN.end()
        );
        return Err(TraceError::damaged(path, what));
    }
    if file::checksum(&header) != header.crc {
        return Err(TraceError::damaged(path, "has a damaged header (checksum)"));
    }
    if header.world_size > MOST_RANKS {
        let what = format!("claims {} ranks, above the maximum of {MOST_RANKS}", header.world_size);
        return Err(TraceError::damaged(path, what));
    }
    let table = size_of::<FileHeader>()..file::part_entry_offset(header.parts) as usize;
    let Some(table) = map.get(table) else {
        return Err(TraceError::damaged(path, "ends within its table of parts"));
    };
    let entries = table.chunks_exact(size_of::<PartEntry>()).map(bytemuck::pod_read_unaligned).collect();
    Ok(MappedFile { map, metadata, header, entries })
}

/// The header and the whole parts of a file; what is wrong with the others goes to `problems`.
pub(super) fn open_file(path: &Path, problems: &mut Vec<String>) -> Result<(FileHeader, Vec<Part>), TraceError> {
    let MappedFile { map, header, entries, .. } = map_file(path)?;
    let mut parts = Vec::new();
    let mut ranks = HashSet::new();
    for entry in &entries {
        // Before the parts are read: a short table could have a long part read any number of times.
        if entry.rank >= MOST_RANKS || !ranks.insert(entry.rank) {
            let what = format!("lists rank {} twice, or it is out of range", entry.rank);
            return Err(TraceError::damaged(path, what));
        }
    }
    // Many parts are small: a share of them for each processor. Of few the sections are shared out.
    let opened: Vec<_> = match entries.len() >= SHARED_OUT {
        true => {
            let shares = entries.chunks(entries.len().div_ceil(64)).collect();
            let open = |share: &[PartEntry]| share.iter().map(|entry| open_part(&map, entry)).collect::<Vec<_>>();
            parallel::map(shares, open).into_iter().flatten().collect()
        }
        false => entries.iter().map(|entry| open_part(&map, entry)).collect(),
    };
    for (entry, opened) in entries.iter().zip(opened) {
        match opened {
            Ok(part) => parts.push(part),
            Err(what) => problems.push(format!("{}: the part of rank {} {what}", path.display(), entry.rank)),
        }
    }
    if parts.is_empty() && header.parts > 0 {
        let what = problems.pop().unwrap_or_default();
        return Err(TraceError::damaged(path, format!("holds no whole part ({what})")));
    }
    Ok((header, parts))
}

/// The directory of the part that `bytes` begin with.
pub(crate) fn directory(bytes: &[u8]) -> Result<Vec<SectionEntry>, &'static str> {
    let header: PartHeader =
        bytes.get(..size_of::<PartHeader>()).map(bytemuck::pod_read_unaligned).ok_or("has no header")?;
    if header.sections > MOST_SECTIONS {
        return Err("has too many sections");
    }
    let directory = (header.sections as usize)
        .checked_mul(size_of::<SectionEntry>())
        .and_then(|length| bytes.get(size_of::<PartHeader>()..size_of::<PartHeader>() + length))
        .ok_or("has no directory")?;
    Ok(directory.chunks_exact(size_of::<SectionEntry>()).map(bytemuck::pod_read_unaligned).collect())
}

/// Checks everything about one part. The error completes "the part of rank N ...".
pub(crate) fn open_part(map: &Arc<Mmap>, entry: &PartEntry) -> Result<Part, &'static str> {
    if entry.length == 0 {
        return Err("is empty: the rank had no memory for its records");
    }
    let start = usize::try_from(entry.offset).map_err(|_| "leads out of the file")?;
    let length = usize::try_from(entry.length).map_err(|_| "leads out of the file")?;
    let bytes = start.checked_add(length).and_then(|end| map.get(start..end)).ok_or("leads out of the file")?;
    if !entry.offset.is_multiple_of(PAGE) || length < size_of::<PartHeader>() {
        return Err("is misplaced");
    }
    let header: PartHeader = bytemuck::pod_read_unaligned(&bytes[..size_of::<PartHeader>()]);
    if header.magic != PART_MAGIC || header.length != entry.length || header.rank.rank != entry.rank {
        return Err("has no header");
    }
    let directory = directory(bytes)?;
    if !KNOWN.contains(&header.version) || part::checksum(&header, &directory) != header.crc {
        return Err("has a damaged header (checksum)");
    }

    if header.records >= u64::from(u32::MAX) {
        return Err("holds more records than this program can number");
    }
    // Where each section is, and its checksum: verified last, all together.
    let sums = RefCell::new(Vec::new());
    let place = |entry: &SectionEntry| {
        let place = section(bytes, start, entry)?;
        sums.borrow_mut().push((place.clone(), entry.crc));
        Ok(place)
    };
    let find = |kind: u32, size: usize| -> Result<Range<usize>, &'static str> {
        let entry = directory.iter().find(|entry| entry.kind == kind).ok_or("lacks a section")?;
        if entry.element_size as usize != size {
            return Err("has a section of unknown shape");
        }
        place(entry)
    };
    let mut columns = Vec::new();
    for entry in directory.iter().filter(|entry| entry.kind == section::COLUMN) {
        if entry.count != header.records {
            return Err("has columns of different lengths");
        }
        let (name, element_size) = (name_of(&entry.name).to_owned(), entry.element_size);
        let place = match entry.encoding {
            encoding::BLOCKS => {
                let from = usize::try_from(entry.offset).ok().and_then(|offset| offset.checked_add(start));
                let section =
                    PackedSection::of(&map[..start + length], from.ok_or("has a misplaced section")?, entry.count)?;
                sums.borrow_mut().push((section.head.clone(), entry.crc));
                sums.borrow_mut().extend(section.blocks.iter().cloned());
                Place::Blocks(section, OnceLock::new())
            }
            _ => Place::Plain(place(entry)?),
        };
        columns.push(ColumnPlace { name, element_size, place });
    }
    let block_records: Vec<Option<usize>> = columns.iter().map(ColumnPlace::block_records).collect();
    if block_records.windows(2).any(|pair| pair[0] != pair[1]) {
        return Err("has columns in blocks of different lengths");
    }
    let expected = COLUMNS.iter().enumerate();
    if !expected.clone().all(|(index, (name, size))| {
        columns.get(index).is_some_and(|column| column.name == *name && column.element_size == *size)
    }) {
        return Err("lacks a column");
    }
    let find_any = |kind: u32, size: usize| match directory.iter().any(|entry| entry.kind == kind) {
        true => find(kind, size),
        false => Ok(0..0),
    };
    let mut part = Part {
        map: map.clone(),
        packed: None,
        is_read_piecewise: false,
        identity: Identity::new(),
        counters: find_any(section::COUNTERS, size_of::<CounterEntry>())?,
        syncs: find_any(section::SYNCS, size_of::<SyncEntry>())?,
        probes: find_any(section::PROBES, size_of::<ProbeEntry>())?,
        interruptions: find_any(section::INTERRUPTIONS, size_of::<InterruptionEntry>())?,
        histograms: find_any(section::HISTOGRAMS, size_of::<HistogramEntry>())?,
        metadata: find(section::FACTORS, 1)?,
        strings: find(section::STRINGS, 1)?,
        communicators: find(section::COMMUNICATORS, size_of::<CommunicatorEntry>())?,
        operations: find(section::OPERATIONS, size_of::<OperationEntry>())?,
        threads: find(section::THREADS, size_of::<ThreadEntry>())?,
        runs: find(section::RUNS, size_of::<RunEntry>())?,
        header,
        columns,
    };
    check_sums(map, &sums.into_inner())?;
    if block_records.first().is_some_and(Option::is_some) {
        let names = part.columns.iter().map(|column| (column.name.as_str(), column.element_size));
        part.packed = Some(Columns::new(names, part.operations()));
    }
    check_indices(&part)?;
    Ok(part)
}

/// The bytes of a section within the map.
fn section(part: &[u8], start: usize, entry: &SectionEntry) -> Result<Range<usize>, &'static str> {
    let range = entry
        .count
        .checked_mul(entry.element_size.into())
        .and_then(|length| Some(entry.offset..entry.offset.checked_add(length)?))
        .and_then(|range| Some(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?))
        .ok_or("has a section that exceeds it")?;
    part.get(range.clone()).ok_or("has a section that exceeds it")?;
    if !entry.offset.is_multiple_of(SECTION_ALIGNMENT) {
        return Err("has a misplaced section");
    }
    if entry.encoding != 0 {
        return Err("has a section in an encoding that this program does not know");
    }
    Ok(start + range.start..start + range.end)
}

/// Verifies the checksums of sections that lie at these places of the map, on all processors.
fn check_sums(map: &[u8], sections: &[(Range<usize>, u32)]) -> Result<(), &'static str> {
    let blocks: Vec<(usize, &[u8])> = sections
        .iter()
        .enumerate()
        .flat_map(|(section, (place, _))| map[place.clone()].chunks(CHECKED_AT_ONCE).map(move |block| (section, block)))
        .collect();
    let sum = |(section, block): (usize, &[u8])| {
        let mut crc = crc32fast::Hasher::new();
        crc.update(block);
        (section, crc)
    };
    // Small parts, of which there may be thousands, are not worth a thread.
    let bytes: usize = sections.iter().map(|(place, _)| place.len()).sum();
    let sums: Vec<_> = match bytes > 2 * CHECKED_AT_ONCE {
        true => parallel::map(blocks, sum),
        false => blocks.into_iter().map(sum).collect(),
    };
    let mut found = vec![crc32fast::Hasher::new(); sections.len()];
    sums.iter().for_each(|(section, crc)| found[*section].combine(crc));
    let whole = found.into_iter().zip(sections).all(|(found, (_, expected))| found.finalize() == *expected);
    if whole { Ok(()) } else { Err("is damaged (checksum)") }
}

/// Every index in the tables and columns must lead to an entry.
fn check_indices(part: &Part) -> Result<(), &'static str> {
    let communicators = part.communicators().len();
    if part.operations().iter().any(|operation| operation.communicator as usize >= communicators) {
        return Err("has an operation without a communicator");
    }
    let operations = part.operations().len();
    if part.highest_operation()?.is_some_and(|highest| highest as usize >= operations) {
        return Err("has a call without an operation");
    }
    let threads = part.threads().len();
    if part.runs().iter().any(|run| run.thread as usize >= threads) {
        return Err("has records without a thread");
    }
    let interruptions = part.interruptions();
    if interruptions.iter().any(|entry| entry.record >= part.header.records || entry.thread as usize >= threads)
        || !interruptions.is_sorted_by_key(|entry| entry.record)
    {
        return Err("has an interruption without a call");
    }
    let histograms = part.histograms();
    if !histograms.is_sorted_by_key(|entry| (entry.histogram, entry.bucket))
        || histograms.iter().any(|entry| entry.bucket as usize >= BUCKETS)
    {
        return Err("has a histogram that is not in order");
    }
    let mut records = 0u64;
    for run in part.runs() {
        records = records.checked_add(run.count).ok_or("counts its records wrongly")?;
    }
    if records != part.header.records {
        return Err("counts its records wrongly");
    }
    Ok(())
}
