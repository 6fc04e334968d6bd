//! Parts of all shapes: each table there or empty, the last section empty or not, and the end of the last section one
//! byte before the end of a page, at it, and behind it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytemuck::{NoUninit, Zeroable};
use mpitrace_format::layout::*;
use mpitrace_format::{file, recover, segment, strings};
use mpitrace_platform::node_files;
use proptest::prelude::*;

use super::Trace;

/// How many entries the tables of a rank have.
#[derive(Clone, Copy, Debug)]
struct Shape {
    communicators: u64,
    operations: u64,
    threads: u64,
    stamped: bool,
    partners: bool,
    counters: u64,
    syncs: u64,
    probes: u64,
    histograms: u64,
    records: u64,
    messages: u64,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let flags = (any::<bool>(), any::<bool>());
    ((0..3u64, 0..3u64, 0..3u64), flags, (0..2u64, 0..2u64, 0..2u64, 0..2u64), (0..4u64, 0..4u64)).prop_map(
        |((communicators, operations, threads), (stamped, partners), others, (records, messages))| {
            let (counters, syncs, probes, histograms) = others;
            let needed = u64::from(records > 0);
            let operations = operations.max(needed);
            Shape {
                communicators: communicators.max(operations.min(1)),
                operations,
                threads: threads.max(needed).max(messages.min(1)),
                stamped,
                partners,
                counters,
                syncs,
                probes,
                histograms,
                records,
                messages,
            }
        },
    )
}

const WORLD: u32 = 3;
const CHUNK: u64 = 4;

/// The segment of a rank that was killed, with a string area of so many bytes.
fn segment_of(shape: Shape, rank: u32, strings: u64) -> Vec<u8> {
    let mut header = SegmentHeader {
        magic: SEGMENT_MAGIC,
        version: VERSION,
        byte_order: BYTE_ORDER_MARK,
        rank: RankHeader {
            job: [7; 16],
            rank,
            world_size: WORLD,
            pid: 100 + rank,
            state: state::RUNNING,
            columns: LIVE_COLUMNS.len() as u32,
            ..RankHeader::zeroed()
        },
        chunk_records: CHUNK,
        chunk_bytes: PAGE,
        ..SegmentHeader::zeroed()
    };
    let mut offset = 0;
    for (entry, (name, size)) in header.columns.iter_mut().zip(LIVE_COLUMNS) {
        *entry = ColumnEntry { name: name_bytes(name), element_size: size, on_demand: 0, offset };
        offset += CHUNK * u64::from(size);
    }
    let mut bytes = vec![0; PAGE as usize];
    let one = |count: u64| vec![1u8; count as usize];
    header.strings = add(&mut bytes, &one(strings));
    let communicator = CommunicatorEntry { calls: 9, ..Zeroable::zeroed() };
    header.communicators = add(&mut bytes, &vec![communicator; shape.communicators as usize]);
    let operation = OperationEntry { calls: 9, root: NO_ROOT, ..Zeroable::zeroed() };
    header.operations = add(&mut bytes, &vec![operation; shape.operations as usize]);
    header.threads = add(&mut bytes, &vec![ThreadEntry::zeroed(); shape.threads as usize]);
    let stamped = if shape.stamped { shape.threads } else { 0 };
    header.thread_times = add(&mut bytes, &vec![ThreadTimes::zeroed(); stamped as usize]);
    header.partners = add(&mut bytes, &vec![PartnerEntry::zeroed(); usize::from(shape.partners)]);
    header.counters = add(&mut bytes, &vec![CounterEntry::zeroed(); shape.counters as usize]);
    header.syncs = add(&mut bytes, &vec![SyncEntry::zeroed(); shape.syncs as usize]);
    header.probes = add(&mut bytes, &vec![ProbeEntry::zeroed(); shape.probes as usize]);
    let row = Buckets { histogram: 1, row: 0, calls: [1; ROW] };
    header.histograms = add(&mut bytes, &vec![row; shape.histograms as usize]);
    let message = MessageEntry { calls: 9, ..Zeroable::zeroed() };
    header.messages = add(&mut bytes, &vec![message; usize::from(shape.messages > 0)]);
    let chunks: Vec<ChunkEntry> = [(shape.records, 0), (shape.messages, MESSAGES)]
        .iter()
        .zip(1..)
        .map(|(&(_, thread), draw)| ChunkEntry { draw, thread, flags: 0 })
        .collect();
    header.chunks = add(&mut bytes, &chunks);
    bytes.resize(round_up(bytes.len() as u64, PAGE) as usize, 0);
    header.records_offset = bytes.len() as u64;
    for records in [shape.records, shape.messages] {
        let start = bytes.len();
        bytes.resize(start + PAGE as usize, 0);
        for record in 0..records as usize {
            put(&mut bytes, start + 8 * record, &(1000 + 10 * record as u64));
            put(&mut bytes, start + 8 * CHUNK as usize + 4 * record, &(DURATION_FROM + 5));
        }
    }
    put(&mut bytes, 0, &header);
    bytes
}

/// Adds a table at the next place that is aligned.
fn add<T: NoUninit>(bytes: &mut Vec<u8>, entries: &[T]) -> Region {
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    let (offset, count) = (bytes.len() as u64, entries.len() as u64);
    bytes.extend_from_slice(bytemuck::cast_slice(entries));
    Region { offset, capacity: count, used: count }
}

fn put<T: NoUninit>(bytes: &mut [u8], place: usize, value: &T) {
    bytes[place..place + size_of::<T>()].copy_from_slice(bytemuck::bytes_of(value));
}

/// The longest string area with which the rank's part takes no page more.
fn longest(shape: Shape) -> u64 {
    let length = |strings| {
        let bytes = aligned(segment_of(shape, 0, strings));
        segment::read(Path::new("a"), bytemuck::cast_slice(&bytes), false).unwrap().length()
    };
    let pages = length(strings::FIRST);
    let (mut fits, mut exceeds) = (strings::FIRST, strings::FIRST + 2 * PAGE);
    while fits + 1 < exceeds {
        let middle = (fits + exceeds) / 2;
        if length(middle) == pages { fits = middle } else { exceeds = middle }
    }
    fits
}

/// In memory that is aligned as a mapping is.
fn aligned(bytes: Vec<u8>) -> Vec<u64> {
    let mut words = vec![0; bytes.len() / 8];
    bytemuck::cast_slice_mut(&mut words).copy_from_slice(&bytes);
    words
}

/// Leaves a segment in the folder, as a killed job does, and recovers it into the trace.
fn recover(folder: &Path, segment: &[u8], output: &Path) {
    let name = format!("{}1{}", node_files::prefix(0), node_files::SEGMENT);
    std::fs::write(folder.join(name), segment).unwrap();
    let left = recover::leftovers(&[folder.to_owned()], None).unwrap();
    let recovered = recover::recover_job(&left, output).unwrap().unwrap();
    assert_eq!((recovered.path.as_path(), recovered.ranks, recovered.damaged.len()), (output, 1, 0));
}

/// The ranks of a trace with their records of collectives and of messages; nothing is wrong with any of them.
fn read<P: AsRef<Path>>(paths: &[P]) -> Vec<(u32, u64, u64)> {
    let trace = Trace::open(paths).unwrap();
    let is_of_end = |problem: &String| problem.contains("MPI_Finalize") || problem.contains("left nothing");
    assert!(trace.problems.iter().all(is_of_end), "{:?}", trace.problems);
    let records = |part: &super::Part| (part.rank(), part.records() as u64, part.message_records().len() as u64);
    trace.parts.iter().map(records).collect()
}

/// Cuts a trace of one part off behind its last section that has bytes: how many bytes it has lost.
fn cut_off(path: &Path) -> u64 {
    let trace = File::options().read(true).write(true).open(path).unwrap();
    let (mut entry, mut header) = (PartEntry::zeroed(), PartHeader::zeroed());
    trace.read_exact_at(bytemuck::bytes_of_mut(&mut entry), file::part_entry_offset(0)).unwrap();
    trace.read_exact_at(bytemuck::bytes_of_mut(&mut header), entry.offset).unwrap();
    let mut directory = vec![SectionEntry::zeroed(); header.sections as usize];
    let place = entry.offset + size_of::<PartHeader>() as u64;
    trace.read_exact_at(bytemuck::cast_slice_mut(&mut directory), place).unwrap();
    let end = |section: &SectionEntry| match section.count {
        0 => 0,
        count => section.offset + count * u64::from(section.element_size),
    };
    let end = directory.iter().map(end).max().unwrap();
    trace.set_len(entry.offset + end).unwrap();
    entry.length - end
}

fn moved(length: u64, more: i64) -> u64 {
    length.checked_add_signed(more).unwrap()
}

struct Folder {
    here: tempfile::TempDir,
    segments: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        let make = || tempfile::tempdir().unwrap();
        Folder { here: make(), segments: make() }
    }

    fn trace(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn parts_of_all_shapes_are_written_joined_recovered_and_read(of_ranks in [shapes(), shapes()]) {
        let folder = Folder::new();
        let longest = of_ranks.map(longest);
        for (case, more) in [-1, 0, 1].into_iter().enumerate() {
            let output = folder.trace(&format!("{case}.mpitrace"));
            let alone = folder.trace(&format!("{case}-alone.mpitrace"));
            let mut expected = Vec::new();
            for (rank, shape) in (0..).zip(of_ranks) {
                let segment = segment_of(shape, rank, moved(longest[rank as usize], more));
                expected.push((rank, shape.records, shape.messages));
                recover(folder.segments.path(), &segment, &output);
                prop_assert_eq!(&read(&[&output]), &expected);
                if rank == 0 {
                    std::fs::copy(&output, &alone).unwrap();
                    let length = std::fs::metadata(&output).unwrap().len();
                    prop_assert!(length.is_multiple_of(PAGE), "{length} bytes");
                }
            }
            // Without the padding behind its last part a trace is read alike.
            let other = folder.trace(&format!("{case}-other.mpitrace"));
            let lost = cut_off(&alone);
            prop_assert_eq!(&read(&[&alone]), &expected[..1]);
            let segment = segment_of(of_ranks[1], 1, moved(longest[1], more));
            recover(folder.segments.path(), &segment, &other);
            cut_off(&other);
            prop_assert_eq!(&read(&[&alone, &other]), &expected);
            // One from which more than the place of an empty section is cut off is no other's to write into.
            if lost < SECTION_ALIGNMENT {
                recover(folder.segments.path(), &segment, &alone);
                prop_assert_eq!(&read(&[&alone]), &expected);
            }
        }
    }
}
