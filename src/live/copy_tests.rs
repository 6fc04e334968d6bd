//! Copies of a segment that is written to meanwhile, and of one that is cut short.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

use bytemuck::Zeroable;
use memmap2::{MmapMut, MmapOptions};
use mpitrace_platform::node_files;

use mpitrace_format::layout::*;
use mpitrace_format::live::{Holder, Segment, segments};

use super::copy::copy;

const RECORDS: u64 = 64;
const CHUNKS: u64 = 4;
const ENTRIES: u64 = PAGE;
const TABLES: u64 = 2 * PAGE;
const CHUNKS_AT: u64 = 4 * PAGE;

/// A segment of four chunks in a folder of its own, as the preloaded library lays it out.
struct Written {
    folder: PathBuf,
    file: PathBuf,
    header: SegmentHeader,
    map: MmapMut,
}

impl Written {
    fn new(name: &str) -> Written {
        let folder = std::env::temp_dir().join(format!("mpitrace-copy-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{}0123456789abcdef-77{}", node_files::prefix(uid()), node_files::SEGMENT));
        let mut header = SegmentHeader {
            magic: SEGMENT_MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER_MARK,
            rank: RankHeader {
                rank: 1,
                world_size: 2,
                capacity: CHUNKS * RECORDS,
                columns: LIVE_COLUMNS.len() as u32,
                clock_source: clock_source::MONOTONIC_RAW,
                state: state::RUNNING,
                ..RankHeader::zeroed()
            },
            strings: Region { offset: TABLES, capacity: 64, used: 8 },
            communicators: Region { offset: TABLES + 512, capacity: 1, used: 1 },
            operations: Region { offset: TABLES + 1024, capacity: 1, used: 1 },
            threads: Region { offset: TABLES + 1536, capacity: 1, used: 1 },
            chunks: Region { offset: ENTRIES, capacity: CHUNKS, used: CHUNKS },
            chunk_records: RECORDS,
            chunk_bytes: PAGE,
            records_offset: CHUNKS_AT,
            ..SegmentHeader::zeroed()
        };
        let mut offset = 0;
        for (entry, (name, element_size)) in header.columns.iter_mut().zip(LIVE_COLUMNS) {
            *entry = ColumnEntry { name: name_bytes(name), element_size, on_demand: 0, offset };
            offset += RECORDS * u64::from(element_size);
        }
        let opened = File::options().read(true).write(true).create(true).truncate(true).open(&file).unwrap();
        opened.set_len(CHUNKS_AT + CHUNKS * PAGE).unwrap();
        // SAFETY: the file is this test's own, and is cut short only after the mapping is gone.
        let map = unsafe { MmapOptions::new().map_mut(&opened) }.unwrap();
        let mut written = Written { folder, file, header, map };
        let communicator = CommunicatorEntry { calls: 1 << 20, size: 2, flags: 9, ..Zeroable::zeroed() };
        let operation = OperationEntry { calls: 1 << 20, root: NO_ROOT, ..Zeroable::zeroed() };
        written.put(0, bytemuck::bytes_of(&header));
        written.put(header.communicators.offset, bytemuck::bytes_of(&communicator));
        written.put(header.operations.offset, bytemuck::bytes_of(&operation));
        written
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) {
        self.map[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn found(&self) -> Segment {
        let mut found = segments(std::slice::from_ref(&self.folder), uid());
        assert_eq!(found.len(), 1);
        found.pop().unwrap()
    }

    fn word(&self, offset: u64) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.map.len() as u64);
        // SAFETY: the place lies in the mapping and is aligned; what other threads do with it they do through atomics.
        unsafe { AtomicU64::from_ptr(self.map.as_ptr().wrapping_add(offset as usize).cast_mut().cast()) }
    }

    fn half_word(&self, offset: u64) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.map.len() as u64);
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(self.map.as_ptr().wrapping_add(offset as usize).cast_mut().cast()) }
    }

    /// Draws a chunk for the `draw`-th time and fills it with so many records, in the library's order: a record's
    /// position, repetition and duration follow from its tick.
    fn fill(&self, draw: u64, records: u64) {
        let chunk = (draw - 1) % CHUNKS;
        let start = CHUNKS_AT + chunk * PAGE;
        let entry = ENTRIES + chunk * size_of::<ChunkEntry>() as u64;
        self.word(entry).store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        let column = |index: usize, record: u64| {
            let column = &self.header.columns[index];
            start + column.offset + record * u64::from(column.element_size)
        };
        for record in 0..RECORDS {
            self.word(column(0, record)).store(0, Ordering::Relaxed);
            self.half_word(column(1, record)).store(NOT_RETURNED, Ordering::Relaxed);
        }
        self.word(entry).store(draw, Ordering::Release);
        for record in 0..records {
            let number = draw * RECORDS + record;
            self.half_word(column(2, record)).store(number as u32, Ordering::Relaxed);
            self.half_word(column(3, record)).store(number as u32, Ordering::Relaxed);
            self.half_word(column(4, record)).store(0, Ordering::Relaxed);
            self.word(column(0, record)).store(1000 * number, Ordering::Release);
            self.half_word(column(1, record)).store(DURATION_FROM + 7, Ordering::Relaxed);
        }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn uid() -> u32 {
    // SAFETY: getuid has no preconditions and cannot fail.
    unsafe { libc::getuid() }
}

/// The ticks at the entries and the positions in a copy of so many records, by tick.
fn calls(segment: &Segment, records: u64) -> Vec<(u64, u64)> {
    let copied = copy(segment, records).unwrap();
    let content = copied.content().unwrap();
    let mut calls: Vec<(u64, u64)> = Vec::new();
    for rows in content.records_in_memory() {
        for (enter, exit) in rows.enter.iter().zip(rows.exit) {
            assert!(exit == 0 || exit == enter + 7, "{enter} {exit}");
        }
        calls.extend(rows.enter.into_iter().zip(rows.position));
    }
    calls.sort_unstable();
    calls
}

#[test]
fn a_copy_has_the_last_records_and_ends_where_they_do() {
    let written = Written::new("last");
    (1..=3).for_each(|draw| written.fill(draw, RECORDS));
    written.fill(4, 10);
    let segment = written.found();
    assert_eq!((segment.holder, segment.job_key()), (Holder::Nobody, Some("0123456789abcdef")));
    let number = |call: u64| (1000 * call, call);
    let all: Vec<(u64, u64)> = (RECORDS..4 * RECORDS + 10).map(number).collect();
    assert_eq!(calls(&segment, 1000), all);
    assert_eq!(calls(&segment, 0), all[all.len() - 10..], "the chunk that is filled now");
    assert_eq!(calls(&segment, RECORDS + 1), all[all.len() - 10 - RECORDS as usize..]);
    let copied = copy(&segment, RECORDS + 1).unwrap();
    assert_eq!(copied.left_out, 2 * RECORDS);
    let rank = copied.content().unwrap().rank;
    assert!(rank.last_anchor.tick > 0, "the present");
}

#[test]
fn no_copy_mixes_the_records_of_two_draws() {
    let written = Written::new("draws");
    let ended = AtomicBool::new(false);
    let segment = written.found();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for draw in 1..=20_000 {
                written.fill(draw, RECORDS);
            }
            ended.store(true, Ordering::Release);
        });
        let mut found = 0;
        while !ended.load(Ordering::Acquire) {
            let calls = calls(&segment, CHUNKS * RECORDS);
            assert!(calls.iter().all(|&(tick, position)| tick % 1000 == 0 && position as u32 == (tick / 1000) as u32));
            found += calls.len();
        }
        assert!(found > 0 || !calls(&segment, CHUNKS * RECORDS).is_empty());
    });
}

/// A mapping of such a file would end the process with SIGBUS.
#[test]
fn a_file_that_is_cut_short_is_an_error() {
    let written = Written::new("short");
    written.fill(1, RECORDS);
    let segment = written.found();
    let file = File::options().write(true).open(&written.file).unwrap();
    file.set_len(CHUNKS_AT + 100).unwrap();
    assert_eq!(calls(&segment, 1000), [], "the chunk does not reach so far");
    file.set_len(100).unwrap();
    let error = copy(&segment, 1000).unwrap_err().to_string();
    assert!(error.ends_with("is too short to be a segment"), "{error}");
    assert!(segments(std::slice::from_ref(&written.folder), uid()).is_empty());
}

#[test]
fn a_damaged_header_claims_no_memory() {
    let written = Written::new("claims");
    written.fill(1, RECORDS);
    let file = File::options().read(true).write(true).open(&written.file).unwrap();
    let segment = written.found();
    for change in [
        |header: &mut SegmentHeader| header.strings = Region { offset: 0, capacity: u64::MAX, used: u64::MAX },
        |header: &mut SegmentHeader| header.chunks = Region { offset: u64::MAX - 8, capacity: 9, used: 9 },
        |header: &mut SegmentHeader| header.records_offset = u64::MAX,
        |header: &mut SegmentHeader| header.chunk_bytes = u64::MAX,
    ] {
        let mut header = written.header;
        change(&mut header);
        std::os::unix::fs::FileExt::write_all_at(&file, bytemuck::bytes_of(&header), 0).unwrap();
        // Whatever comes out, it does not panic and does not take the machine's memory.
        let _ = copy(&segment, 1000).map(|copied| copied.content().map(|content| content.records()));
    }
}
