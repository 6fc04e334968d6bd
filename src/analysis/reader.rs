//! Opens a trace, in place: the file is mapped and its columns are used where they lie.
//!
//! Nothing is believed before it is checked: magic, version, checksums, every offset against the bytes there are, and
//! every index in a table. A trace whose frame is damaged is refused; of one whose parts are partly damaged the whole
//! parts are used, and the trace counts as incomplete.

use std::cell::RefCell;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;
use mpitrace_format::layout::*;
use mpitrace_format::{TraceError, file, metadata, part, strings};

use crate::parallel;

/// Bytes whose checksum one processor takes at a time.
const CHECKED_AT_ONCE: usize = 4 << 20;

/// A run's trace: the parts of its ranks.
#[derive(Debug)]
pub struct Trace {
    /// In the order of their ranks.
    pub parts: Vec<Part>,
    /// The size of MPI_COMM_WORLD.
    pub world_size: u32,
    /// Whether every rank reached `MPI_Finalize` and every part is here and whole.
    pub complete: bool,
    /// What is wrong with an incomplete trace, a line each.
    pub problems: Vec<String>,
}

/// What one rank recorded.
#[derive(Debug)]
pub struct Part {
    map: Arc<Mmap>,
    header: PartHeader,
    metadata: Range<usize>,
    strings: Range<usize>,
    communicators: Range<usize>,
    operations: Range<usize>,
    threads: Range<usize>,
    runs: Range<usize>,
    counters: Range<usize>,
    syncs: Range<usize>,
    probes: Range<usize>,
    columns: Vec<ColumnPlace>,
}

/// What became of the requests of non-blocking calls, a value for each record; 0 for the other calls.
#[derive(Clone, Copy, Debug)]
pub struct Requests<'a> {
    /// Ticks that the starting call took.
    pub init: &'a [u64],
    /// Ticks spent in Test calls for the request.
    pub test: &'a [u64],
    /// Ticks spent in Wait calls for the request.
    pub wait: &'a [u64],
    /// Test calls for the request.
    pub tests: &'a [u32],
}

#[derive(Debug)]
struct ColumnPlace {
    name: String,
    element_size: u32,
    bytes: Range<usize>,
}

impl Trace {
    /// Opens the file, or the files where one run left several.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Trace, TraceError> {
        let mut parts: Vec<Part> = Vec::new();
        let mut problems = Vec::new();
        let mut first: Option<(PathBuf, FileHeader)> = None;
        let mut complete = true;
        for path in paths {
            let path = path.as_ref();
            let (header, found) = open_file(path, &mut problems)?;
            match &first {
                Some((first, expected)) if expected.job != header.job => {
                    return Err(TraceError::Foreign { path: path.to_owned(), first: first.clone() });
                }
                Some(_) => {}
                None => first = Some((path.to_owned(), header)),
            }
            complete &= header.complete != 0;
            for part in found {
                if parts.iter().any(|other| other.rank() == part.rank()) {
                    return Err(TraceError::damaged(path, format!("rank {} comes a second time", part.rank())));
                }
                parts.push(part);
            }
        }
        let world_size = first.map_or(0, |(_, header)| header.world_size);
        parts.sort_by_key(Part::rank);
        for part in &parts {
            if part.incomplete() {
                let how = if part.header.rank.state == state::ABORTED {
                    "called MPI_Abort"
                } else {
                    "did not reach MPI_Finalize"
                };
                problems.push(format!("rank {} {how}", part.rank()));
            }
        }
        let missing = u64::from(world_size) - (parts.len() as u64).min(u64::from(world_size));
        if missing > 0 {
            problems.push(format!("{missing} of {world_size} ranks have left nothing in this trace"));
        }
        complete &= problems.is_empty();
        Ok(Trace { parts, world_size, complete, problems })
    }

    /// Calls kept on all ranks.
    pub fn records(&self) -> u64 {
        self.parts.iter().map(|part| part.header.records).sum()
    }

    /// Calls not kept since the arrays were full, on all ranks.
    pub fn dropped(&self) -> u64 {
        self.parts.iter().map(Part::dropped).sum()
    }
}

impl Part {
    /// The world rank.
    pub fn rank(&self) -> u32 {
        self.header.rank.rank
    }

    /// What is known of the rank.
    pub fn info(&self) -> &RankHeader {
        &self.header.rank
    }

    /// Whether the rank did not reach Finalize, or records of it were lost.
    pub fn incomplete(&self) -> bool {
        self.header.incomplete != 0
    }

    /// Calls kept.
    pub fn records(&self) -> usize {
        self.header.records as usize
    }

    /// Calls not kept since the arrays were full: those counted, less those kept and those made while paused; and those
    /// that could not be counted since the tables were full.
    pub fn dropped(&self) -> u64 {
        let calls = self.operations().iter().fold(0u64, |sum, operation| sum.saturating_add(operation.calls));
        let untracked = self.threads().iter().fold(0u64, |sum, thread| sum.saturating_add(thread.untracked));
        let failed = self.threads().iter().fold(0u64, |sum, thread| sum.saturating_add(thread.failed_in_place));
        let kept_back = self.paused().saturating_add(failed);
        calls.saturating_sub(self.header.records).saturating_sub(kept_back).saturating_add(untracked)
    }

    /// Calls made while the program had paused recording.
    pub fn paused(&self) -> u64 {
        self.threads().iter().fold(0, |sum, thread| sum.saturating_add(thread.paused))
    }

    /// The run metadata as this rank saw it.
    pub fn metadata(&self) -> metadata::Metadata {
        metadata::decode(&self.map[self.metadata.clone()]).unwrap_or_default()
    }

    /// The communicators that this rank knew, in the order in which it met them.
    pub fn communicators(&self) -> &[CommunicatorEntry] {
        self.typed(&self.communicators)
    }

    /// The operations that this rank took part in, in the order of their first calls.
    pub fn operations(&self) -> &[OperationEntry] {
        self.typed(&self.operations)
    }

    /// The threads that made calls.
    pub fn threads(&self) -> &[ThreadEntry] {
        self.typed(&self.threads)
    }

    /// Which thread made which records: the runs follow each other.
    pub fn runs(&self) -> &[RunEntry] {
        self.typed(&self.runs)
    }

    /// Ticks at the entry of each call.
    pub fn enter(&self) -> &[u64] {
        self.typed(&self.columns[0].bytes)
    }

    /// Ticks at the exit of each call; 0: it did not return.
    pub fn exit(&self) -> &[u64] {
        self.typed(&self.columns[1].bytes)
    }

    /// Each call's position on its communicator.
    pub fn position(&self) -> &[u64] {
        self.typed(&self.columns[2].bytes)
    }

    /// How many calls of the same operation this rank had begun before.
    pub fn repetition(&self) -> &[u64] {
        self.typed(&self.columns[3].bytes)
    }

    /// Index of each call's operation, with [`DISTURBED`].
    pub fn operation(&self) -> &[u32] {
        self.typed(&self.columns[4].bytes)
    }

    /// What is known of the request of each call; `None` where no call of this rank had one.
    pub fn requests(&self) -> Option<Requests<'_>> {
        let column = |index: usize| {
            let (name, size) = REQUEST_COLUMNS[index];
            self.columns.iter().find(|column| column.name == name && column.element_size == size)
        };
        Some(Requests {
            init: self.typed(&column(0)?.bytes),
            test: self.typed(&column(1)?.bytes),
            wait: self.typed(&column(2)?.bytes),
            tests: self.typed(&column(3)?.bytes),
        })
    }

    /// The counters that this rank was asked for.
    pub fn counters(&self) -> &[CounterEntry] {
        self.typed(&self.counters)
    }

    /// The counters that could be had: their names, and a value for each call.
    pub fn counter_values(&self) -> impl Iterator<Item = (String, &[u64])> {
        self.counters().iter().filter_map(|counter| Some((self.text(counter.name)?, self.counter(counter)?)))
    }

    /// The values of a counter, one for each call; `None` where it could not be had.
    pub fn counter(&self, counter: &CounterEntry) -> Option<&[u64]> {
        let name = counter_column(counter.column.checked_sub(1)? as usize);
        let column = self.columns.iter().find(|column| column.name == name && column.element_size == 8)?;
        Some(self.typed(&column.bytes))
    }

    /// The synchronisations of the clocks, on leaders of a clock domain.
    pub fn syncs(&self) -> &[SyncEntry] {
        self.typed(&self.syncs)
    }

    /// What they have learnt of the pairs that this rank keeps.
    pub fn probes(&self) -> &[ProbeEntry] {
        self.typed(&self.probes)
    }

    /// Under a pretended clock the true ticks of each call's entry and exit.
    pub fn true_ticks(&self) -> Option<[&[u64]; 2]> {
        let column = |index: usize| {
            let (name, size) = TRUE_COLUMNS[index];
            self.columns.iter().find(|column| column.name == name && column.element_size == size)
        };
        Some([self.typed(&column(0)?.bytes), self.typed(&column(1)?.bytes)])
    }

    /// The text behind a string reference.
    pub fn text(&self, reference: u32) -> Option<String> {
        strings::text(&self.map[self.strings.clone()], reference)
    }

    fn typed<T: Pod>(&self, range: &Range<usize>) -> &[T] {
        // Size and alignment were checked when the part was opened.
        bytemuck::cast_slice(&self.map[range.clone()])
    }
}

fn open_file(path: &Path, problems: &mut Vec<String>) -> Result<(FileHeader, Vec<Part>), TraceError> {
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
    let table = size_of::<FileHeader>()..file::part_entry_offset(header.parts) as usize;
    let Some(table) = map.get(table) else {
        return Err(TraceError::damaged(path, "ends within its table of parts"));
    };
    let mut parts = Vec::new();
    for entry in table.chunks_exact(size_of::<PartEntry>()) {
        let entry: PartEntry = bytemuck::pod_read_unaligned(entry);
        match open_part(&map, &entry) {
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

/// Checks everything about one part. The error completes "the part of rank N ...".
fn open_part(map: &Arc<Mmap>, entry: &PartEntry) -> Result<Part, &'static str> {
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
    let directory = (header.sections as usize)
        .checked_mul(size_of::<SectionEntry>())
        .and_then(|length| bytes.get(size_of::<PartHeader>()..size_of::<PartHeader>() + length))
        .ok_or("has no directory")?;
    let directory: Vec<SectionEntry> =
        directory.chunks_exact(size_of::<SectionEntry>()).map(bytemuck::pod_read_unaligned).collect();
    if header.version != VERSION || part::checksum(&header, &directory) != header.crc {
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
        columns.push(ColumnPlace {
            name: name_of(&entry.name).to_owned(),
            element_size: entry.element_size,
            bytes: place(entry)?,
        });
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
    let part = Part {
        map: map.clone(),
        counters: find_any(section::COUNTERS, size_of::<CounterEntry>())?,
        syncs: find_any(section::SYNCS, size_of::<SyncEntry>())?,
        probes: find_any(section::PROBES, size_of::<ProbeEntry>())?,
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
        .ok_or("has a section that leads out of it")?;
    part.get(range.clone()).ok_or("has a section that leads out of it")?;
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
    let sums: Vec<_> = match blocks.len() > 2 * sections.len() {
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
        return Err("has an operation on no communicator");
    }
    let operations = part.operations().len();
    let column = part.operation();
    // The highest of each piece, since a loop that may end at every value takes one at a time.
    let highest = |piece: Range<usize>| column[piece].iter().map(|&operation| operation & OPERATION_MASK).max();
    if parallel::map(parallel::pieces(column.len()), highest)
        .into_iter()
        .flatten()
        .any(|highest| highest as usize >= operations)
    {
        return Err("has a call of no operation");
    }
    let threads = part.threads().len();
    if part.runs().iter().any(|run| run.thread as usize >= threads) {
        return Err("has records of no thread");
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
