//! Opens the file of a trace and checks all that a reader relies on.

use std::collections::HashSet;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crc32fast::Hasher;
use memmap2::Mmap;
use mpitrace_format::layout::*;
use mpitrace_format::packed::{Block, BlockHeader, Numbering};
use mpitrace_format::{TraceError, file, part};
use mpitrace_statistics::parallel;

use super::decoded::{Budget, Decoded};
use super::messages;
use super::part::{BlockPlace, MOST_SECTIONS, Part};

/// From so many parts on, whole parts are shared out among the processors.
const SHARED_OUT: usize = 256;
/// Bytes whose checksum one processor takes at a time.
const CHECKED_AT_ONCE: usize = 4 << 20;

const BEYOND_THE_FILE: &str = "ends beyond the end of the file";

/// The sections that are read, with the size of their elements; true: every part has it.
const SECTIONS: [(u32, usize, bool); 21] = [
    (section::FACTORS, 1, true),
    (section::STRINGS, 1, true),
    (section::COMMUNICATORS, size_of::<CommunicatorEntry>(), true),
    (section::OPERATIONS, size_of::<OperationEntry>(), true),
    (section::THREADS, size_of::<ThreadEntry>(), true),
    (section::COLUMNS, size_of::<StoredColumn>(), true),
    (section::BLOCKS, 1, true),
    (section::COUNTERS, size_of::<CounterEntry>(), false),
    (section::SYNCS, size_of::<SyncEntry>(), false),
    (section::PROBES, size_of::<ProbeEntry>(), false),
    (section::INTERRUPTIONS, size_of::<InterruptionEntry>(), false),
    (section::HISTOGRAMS, size_of::<HistogramEntry>(), false),
    (section::RANK_TIMES, size_of::<RankTimes>(), false),
    (section::THREAD_TIMES, size_of::<ThreadTimes>(), false),
    (section::FINALIZE_TIMES, size_of::<FinalizeTimes>(), false),
    (section::PARTNERS, size_of::<PartnerEntry>(), false),
    (section::MESSAGES, size_of::<MessageEntry>(), false),
    (section::MESSAGE_BLOCKS, 1, false),
    (section::LOST, size_of::<LostRecords>(), false),
    (section::LAST_STAMPS, size_of::<LastStamp>(), false),
    (section::POLLS, size_of::<PollTimes>(), false),
];

/// Maps a file and checks its frame.
fn map_file(path: &Path) -> Result<(Arc<Mmap>, FileHeader, Vec<PartEntry>), TraceError> {
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
    if header.version != VERSION {
        let what = format!(
            "is of format version {}, this program reads {VERSION}: use the mpitrace that wrote it",
            header.version
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
    Ok((map, header, entries))
}

/// The header and the whole parts of a file, of which there may be none; what is wrong with the others goes to
/// `problems`.
pub(super) fn open_file(
    path: &Path,
    budget: &Budget,
    problems: &mut Vec<String>,
) -> Result<(FileHeader, Vec<Part>), TraceError> {
    let (map, header, entries) = map_file(path)?;
    let mut parts = Vec::new();
    let mut ranks = HashSet::new();
    for entry in &entries {
        // Before the parts are read: a short table could have a long part read any number of times.
        if entry.rank >= MOST_RANKS || !ranks.insert(entry.rank) {
            let what = format!("lists rank {} twice, or it is out of range", entry.rank);
            return Err(TraceError::damaged(path, what));
        }
    }
    // Many parts are small: they are shared out. Of few, what is large in each one is.
    let opened: Vec<_> = match entries.len() >= SHARED_OUT {
        true => parallel::map(entries.iter().collect(), |entry| open_part(&map, entry, budget)),
        false => entries.iter().map(|entry| open_part(&map, entry, budget)).collect(),
    };
    for (entry, opened) in entries.iter().zip(opened) {
        match opened {
            Ok(part) => parts.push(part),
            Err(what) => problems.push(format!("{}: the part of rank {} {what}", path.display(), entry.rank)),
        }
    }
    Ok((header, parts))
}

/// The directory of the part that `bytes` begin with.
fn directory(bytes: &[u8]) -> Result<Vec<SectionEntry>, &'static str> {
    let header: PartHeader =
        bytes.get(..size_of::<PartHeader>()).map(bytemuck::pod_read_unaligned).ok_or("has no header")?;
    if header.sections as usize > MOST_SECTIONS {
        return Err("has too many sections");
    }
    let directory = (header.sections as usize)
        .checked_mul(size_of::<SectionEntry>())
        .and_then(|length| bytes.get(size_of::<PartHeader>()..size_of::<PartHeader>() + length))
        .ok_or("has no directory")?;
    Ok(directory.chunks_exact(size_of::<SectionEntry>()).map(bytemuck::pod_read_unaligned).collect())
}

/// Checks everything about one part. The error completes "the part of rank N ...".
fn open_part(map: &Arc<Mmap>, entry: &PartEntry, budget: &Budget) -> Result<Part, &'static str> {
    if entry.length == 0 {
        return Err("is empty: the rank had no memory for its records");
    }
    let start = usize::try_from(entry.offset).map_err(|_| BEYOND_THE_FILE)?;
    let length = usize::try_from(entry.length).map_err(|_| BEYOND_THE_FILE)?;
    // Behind its last section that has bytes the file may end before the part does: all of its data are there.
    let end = start.checked_add(length).ok_or(BEYOND_THE_FILE)?.min(map.len());
    let bytes = map.get(start..end).filter(|bytes| bytes.len() >= length.min(size_of::<PartHeader>()));
    let bytes = bytes.ok_or(BEYOND_THE_FILE)?;
    if !entry.offset.is_multiple_of(PAGE) || length < size_of::<PartHeader>() {
        return Err("is misplaced");
    }
    let header: PartHeader = bytemuck::pod_read_unaligned(&bytes[..size_of::<PartHeader>()]);
    if header.magic != PART_MAGIC || header.length != entry.length || header.rank.rank != entry.rank {
        return Err("has no header");
    }
    let directory = directory(bytes)?;
    if header.version != VERSION || part::checksum(&header, &directory) != header.crc {
        return Err("has a damaged header (checksum)");
    }

    if header.records >= u64::from(u32::MAX) {
        return Err("holds more records than this program can number");
    }
    let mut sections = [const { 0..0 }; MOST_SECTIONS];
    let mut sums = Vec::new();
    for (kind, size, is_required) in SECTIONS {
        let Some(entry) = directory.iter().find(|entry| entry.kind == kind) else {
            if is_required {
                return Err("lacks a section");
            }
            continue;
        };
        // Blocks have checksums of their own; the last times are written later than theirs could be.
        let is_of_blocks = matches!(kind, section::BLOCKS | section::MESSAGE_BLOCKS);
        if entry.element_size as usize != size && !is_of_blocks {
            return Err("has a section of unknown shape");
        }
        let place = section(bytes, start, length, &SectionEntry { element_size: size as u32, ..*entry })?;
        if !is_of_blocks && kind != section::FINALIZE_TIMES {
            sums.push((place.clone(), entry.crc));
        }
        sections[kind as usize] = place;
    }
    check_sums(map, &sums)?;
    let [columns, blocks] = [section::COLUMNS, section::BLOCKS].map(|kind| sections[kind as usize].clone());
    let columns: &[StoredColumn] = bytemuck::try_cast_slice(&map[columns]).map_err(|_| "has a misplaced section")?;
    let is_expected = |(index, name): (usize, &&str)| {
        columns.get(index).is_some_and(|column| name_of(&column.name) == *name && column.number as usize == index)
    };
    if !COLUMNS.iter().enumerate().all(is_expected) {
        return Err("lacks a column");
    }
    if columns.iter().any(|column| column.number as usize >= MAX_COLUMNS) {
        return Err("has a column of an impossible number");
    }
    let mut part = Part {
        map: map.clone(),
        sections,
        header,
        columns: columns.iter().map(|column| (name_of(&column.name).to_owned(), column.number)).collect(),
        numbering: Numbering::default(),
        places: Vec::new(),
        blocks_end: blocks.end,
        runs: Vec::new(),
        decoded: Decoded::new(columns.len(), budget),
        derived: OnceLock::new(),
    };
    check_indices(&part)?;
    part.numbering = Numbering::new(part.operations().iter().map(|operation| operation.communicator).collect());
    find_blocks(&mut part, blocks.start)?;
    messages::check(&part)?;
    Ok(part)
}

/// Finds all blocks of a part, from this place of the map on, and checks each of them.
fn find_blocks(part: &mut Part, mut start: usize) -> Result<(), &'static str> {
    let (threads, mut first) = (part.threads().len(), 0);
    while start < part.blocks_end {
        let block = Block::parse(&part.map[start..part.blocks_end], &part.numbering);
        let block = block.ok_or("has a block that is not whole")?;
        let BlockHeader { length, thread, .. } = block.header;
        let highest = block.highest_operation().ok_or("has a block that cannot be decoded")?;
        let count = block.records();
        if highest as usize >= part.numbering.len() {
            return Err("has a call without an operation");
        }
        if thread as usize >= threads {
            return Err("has records without a thread");
        }
        match part.runs.last_mut().filter(|run| run.thread == thread) {
            Some(run) => run.count += count as u64,
            None => part.runs.push(RunEntry { count: count as u64, thread }),
        }
        part.places.push(BlockPlace { start, first });
        first += count;
        start += length as usize;
    }
    if first as u64 != part.header.records {
        return Err("counts its records wrongly");
    }
    let part = &*part;
    let is_whole = |start: usize| {
        Block::parse(&part.map[start..part.blocks_end], &part.numbering).is_some_and(|block| block.has_its_checksum())
    };
    let are_whole = |places: &[BlockPlace]| places.iter().all(|place| is_whole(place.start));
    // Small parts, of which there may be thousands, are not worth a thread.
    let whole = match part.places.first().map_or(0, |place| part.blocks_end - place.start) > 2 * CHECKED_AT_ONCE {
        true => parallel::map(part.places.chunks(part.places.len().div_ceil(64)).collect(), are_whole)
            .iter()
            .all(|one| *one),
        false => are_whole(&part.places),
    };
    if whole { Ok(()) } else { Err("is damaged (checksum)") }
}

/// The place of a section in the map. `part` are the bytes that the file has of the part, which has this length.
fn section(part: &[u8], start: usize, length: usize, entry: &SectionEntry) -> Result<Range<usize>, &'static str> {
    if entry.end() > length as u64 {
        return Err("has a section that exceeds it");
    }
    if !entry.offset.is_multiple_of(SECTION_ALIGNMENT) {
        return Err("has a misplaced section");
    }
    if entry.count == 0 {
        return Ok(start..start);
    }
    let range = entry.offset as usize..entry.end() as usize;
    part.get(range.clone()).ok_or(BEYOND_THE_FILE)?;
    Ok(start + range.start..start + range.end)
}

/// Verifies the checksums of sections that lie at these places of the map: of large ones on all processors.
fn check_sums(map: &[u8], sections: &[(Range<usize>, u32)]) -> Result<(), &'static str> {
    let is_whole = |(place, expected): &(Range<usize>, u32)| {
        let sum = |bytes: &[u8]| Hasher::new_with_initial_len(crc32fast::hash(bytes), bytes.len() as u64);
        let pieces: Vec<&[u8]> = map[place.clone()].chunks(CHECKED_AT_ONCE).collect();
        let many = pieces.len() > 2;
        let sums = if many { parallel::map(pieces, sum) } else { pieces.into_iter().map(sum).collect() };
        let mut whole = Hasher::new();
        sums.iter().for_each(|sum| whole.combine(sum));
        whole.finalize() == *expected
    };
    if sections.iter().all(is_whole) { Ok(()) } else { Err("is damaged (checksum)") }
}

/// Every index in the tables and columns must lead to an entry.
fn check_indices(part: &Part) -> Result<(), &'static str> {
    let communicators = part.communicators().len();
    if part.operations().iter().any(|operation| operation.communicator as usize >= communicators) {
        return Err("has an operation without a communicator");
    }
    let threads = part.threads().len();
    let interruptions = part.interruptions();
    let is_lost = |record: u64| record >= part.header.records && record != NO_RECORD;
    if interruptions.iter().any(|entry| is_lost(entry.record) || entry.thread as usize >= threads)
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
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_of_all_pieces_of_a_section() {
        let mut map: Vec<u8> = (0..3 * CHECKED_AT_ONCE as u32 + 5).map(|i| (i % 251) as u8).collect();
        let sections = [(0..7, crc32fast::hash(&map[..7])), (1..map.len(), crc32fast::hash(&map[1..]))];
        assert_eq!(check_sums(&map, &sections), Ok(()));
        for place in [1, CHECKED_AT_ONCE + 1, map.len() - 1] {
            map[place] ^= 1;
            assert!(check_sums(&map, &sections).is_err(), "{place}");
            map[place] ^= 1;
        }
    }
}
