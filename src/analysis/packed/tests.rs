use std::fs;
use std::path::{Path, PathBuf};

use mpitrace_format::layout::{InterruptionEntry, PACKED_VERSION, VERSION};
use proptest::prelude::*;

use super::{PackError, Rewritten, pack, pack_with, unpack};
use crate::account::Account;
use crate::categories::Rule;
use crate::causality::Causality;
use crate::causes::Causes;
use crate::clock::Clock;
use crate::completion_times::Barriers;
use crate::operations::Operations;
use crate::reader::Trace;
use crate::run_time::RunTime;
use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};

/// A program of random calls: loops, persistent and other requests, a second thread, calls that do not return, calls
/// that are not kept, a ring.
fn ranks(seed: u64, calls: u32) -> Vec<SyntheticRank> {
    let mut random = fastrand::Rng::with_seed(seed);
    let step = [1, 26, 7][random.usize(..3)];
    let make = |number| {
        let mut rank = SyntheticRank::new(number, 2);
        let mut random = random.clone();
        let other = rank.communicator(7, 2, number, Some("other"));
        let operations: Vec<u32> = ["MPI_Allreduce", "MPI_Bcast", "MPI_Ibarrier", "MPI_Barrier"]
            .iter()
            .zip([0, 0, other, other])
            .map(|(function, communicator)| rank.operation(function, communicator, 8))
            .collect();
        let requests = random.bool();
        let mut now = random.u64(..1 << 50) * step;
        for call in 0..calls {
            let operation = operations[if random.u8(..20) == 0 { random.usize(..4) } else { call as usize % 3 }];
            now += step * random.u64(..200);
            let exit = now + step * (1000 + random.u64(..2000));
            match random.u16(..500) {
                0 => rank.dropped_call(operation),
                1 => rank.paused_call(operation),
                2 => rank.thread(),
                3 => rank.call(operation, now, 0),
                _ if operation == operations[2] && requests => {
                    let ticks =
                        SyntheticRequest { init: random.u64(..99), test: 0, wait: random.u64(..9999), tests: 3 };
                    rank.call_with_request(operation, now, exit, ticks);
                }
                _ => rank.call(operation, now, exit),
            }
            if random.u16(..300) == 0 && call > 0 {
                rank.disturb();
            }
            if random.u16(..200) == 0 && call > 0 {
                rank.interrupt(InterruptionEntry {
                    off_ns: random.u64(..1 << 40),
                    flags: random.u32(..4),
                    ..Default::default()
                });
            }
            now = exit;
        }
        if seed.is_multiple_of(3) {
            rank.wrap(calls as usize / 2);
        }
        rank
    };
    vec![make(0), make(1)]
}

struct Files {
    _folder: tempfile::TempDir,
    plain: PathBuf,
    packed: PathBuf,
    unpacked: PathBuf,
}

fn written(ranks: &[SyntheticRank]) -> Files {
    let folder = tempfile::tempdir().unwrap();
    let [plain, packed, unpacked] = ["plain", "packed", "unpacked"].map(|name| folder.path().join(name));
    synthetic::write(&plain, ranks).unwrap();
    Files { _folder: folder, plain, packed, unpacked }
}

fn version(path: &Path) -> u32 {
    u32::from_le_bytes(fs::read(path).unwrap()[8..12].try_into().unwrap())
}

/// All that a reader gives.
fn assert_same_content(one: &Path, other: &Path) {
    let [one, other] = [one, other].map(|path| Trace::open(&[path]).unwrap());
    assert_eq!((one.complete, &one.problems), (other.complete, &other.problems));
    for (one, other) in one.parts.iter().zip(&other.parts) {
        assert_eq!((one.enter(), one.exit()), (other.enter(), other.exit()));
        assert_eq!((one.position(), one.repetition()), (other.position(), other.repetition()));
        assert_eq!((one.operation(), one.runs()), (other.operation(), other.runs()));
        assert_eq!(one.interruptions(), other.interruptions());
        assert!((0..one.records()).all(|record| one.request_of(record) == other.request_of(record)));
        for (one, other) in one.pieces().zip(other.pieces()) {
            assert_eq!((one.durations(), one.open()), (other.durations(), other.open()));
            assert_eq!((one.operation(), one.times()), (other.operation(), other.times()));
        }
    }
    let [found, expected] = [&one, &other].map(|trace| {
        let (operations, clock) = (Operations::of(trace), Clock::of(trace));
        let of = |operation: &crate::operations::Operation| {
            let (numbers, times) = operation.run_times(trace, &clock, RunTime::Global);
            (numbers, times.iter().map(|time| time.to_bits()).collect::<Vec<_>>())
        };
        operations.operations.iter().map(of).collect::<Vec<_>>()
    });
    assert_eq!(found, expected);
}

/// The same of single records, of a trace so large that they are decoded piece by piece, and what the analyses make of
/// them.
fn assert_same_records(plain: &Path, packed: &Path) {
    let [plain, mut packed] = [plain, packed].map(|path| Trace::open(&[path]).unwrap());
    packed.parts.iter_mut().for_each(|part| part.is_read_piecewise = part.packed.is_some());
    for (plain, packed) in plain.parts.iter().zip(&packed.parts) {
        assert!(plain.all_times().eq(packed.all_times()));
        // In order, in the reverse order, and two far apart in turn.
        let count = plain.records();
        let apart = (0..count.min(8)).map(|at| if at % 2 == 0 { at } else { count - at });
        for record in (0..count).chain((0..count).rev().step_by(7)).chain(apart) {
            assert_eq!(packed.times_of(record), (plain.enter()[record], plain.exit()[record]));
            assert_eq!(packed.operation_of(record), plain.operation()[record]);
            assert_eq!(packed.position_of(record), plain.position()[record]);
            assert_eq!(packed.request_of(record), plain.request_of(record));
        }
    }
    let [found, expected] = [&plain, &packed].map(|trace| {
        let (operations, clock) = (Operations::of(trace), Clock::of(trace));
        let account = Account::of(trace, &clock, &operations, Rule::default());
        let causality = Causality::of(trace, &clock, &operations);
        let causes = |operation| Causes::without_counters(trace, &clock, operation, Rule::default());
        let causes: Vec<Causes> = operations.operations.iter().map(causes).collect();
        let bounds: Vec<_> = (0..operations.operations.len())
            .filter_map(|number| Barriers::of(trace, &clock, &operations, number))
            .map(|barriers| barriers.bounds().collect::<Vec<_>>())
            .collect();
        format!("{account:?} {causality:?} {causes:?} {bounds:?}")
    });
    assert!(found == expected, "{found}\n{expected}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_packed_trace_has_the_same_content_and_gives_back_the_file(seed: u64, calls in 0u32..40_000) {
        let files = written(&ranks(seed, calls));
        let Rewritten { before, after, .. } = pack(&files.plain, &files.packed).unwrap();
        prop_assert_eq!([before, after], [&files.plain, &files.packed].map(|path| fs::metadata(path).unwrap().len()));
        if calls > 1000 {
            prop_assert_eq!(version(&files.packed), PACKED_VERSION);
            prop_assert!(after < before);
        }
        assert_same_content(&files.plain, &files.packed);
        assert_same_records(&files.plain, &files.packed);
        unpack(&files.packed, &files.unpacked).unwrap();
        prop_assert!(fs::read(&files.plain).unwrap() == fs::read(&files.unpacked).unwrap());
    }
}

#[test]
fn a_loop_takes_what_its_times_need() {
    // Run times of 4 to 67 and gaps of 2 to 5 steps of 26 ticks: 8 bits a call.
    let mut rank = SyntheticRank::new(0, 1);
    let operations = ["MPI_Barrier", "MPI_Allreduce"].map(|function| rank.operation(function, 0, 8));
    let mut now = 1 << 50;
    for call in 0..200_000u64 {
        let (gap, duration) = (26 * (2 + call * 7 % 4), 26 * (4 + call * 37 % 64));
        rank.call(operations[call as usize % 2], now + gap, now + gap + duration);
        now += gap + duration;
    }
    let files = written(&[rank]);
    let packed = pack(&files.plain, &files.packed).unwrap();
    assert_eq!(packed.columns_before, 200_000 * 36);
    let frames = 2 * 4 * 200_000u64.div_ceil(128);
    let blocks = 200_000u64.div_ceil(16384) * 5 * 48;
    assert!(packed.columns_after <= 200_000 + frames + blocks, "{packed:?}");
}

#[test]
fn what_cannot_be_packed_stays_as_it_is() {
    let mut rank = SyntheticRank::new(0, 1);
    let mut random = fastrand::Rng::with_seed(1);
    let operations: Vec<u32> = (0..3).map(|bytes| rank.operation("MPI_Bcast", 0, bytes)).collect();
    (0..3).for_each(|_| rank.call(operations[random.usize(..3)], random.u64(..), random.u64(1..)));
    let files = written(&[rank]);
    let packed = pack(&files.plain, &files.packed).unwrap();
    assert_eq!((packed.before, packed.columns_before), (packed.after, packed.columns_after));
    assert_eq!(version(&files.packed), VERSION);
    assert!(fs::read(&files.plain).unwrap() == fs::read(&files.packed).unwrap());
}

#[test]
fn a_trace_is_packed_in_its_place_once() {
    let files = written(&ranks(1, 5000));
    let plain = fs::read(&files.plain).unwrap();
    pack(&files.plain, &files.plain).unwrap();
    let packed = fs::read(&files.plain).unwrap();
    let again = pack(&files.plain, &files.plain).unwrap();
    assert_eq!(again.before, again.after);
    assert!(fs::read(&files.plain).unwrap() == packed);
    unpack(&files.plain, &files.plain).unwrap();
    assert!(fs::read(&files.plain).unwrap() == plain);
    let left: Vec<_> = fs::read_dir(files.plain.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_link_to_a_trace_stays_one() {
    let files = written(&ranks(1, 5000));
    let link = files.plain.with_file_name("link");
    std::os::unix::fs::symlink(&files.plain, &link).unwrap();
    pack(&link, &link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(version(&files.plain), PACKED_VERSION);
}

#[test]
fn metadata_is_added_to_the_lowest_rank() {
    let mut ranks = ranks(1, 3000);
    ranks[0].metadata = vec![("host".to_owned(), "a".to_owned()), ("x".to_owned(), "old".to_owned())];
    let files = written(&ranks);
    let added = [("x".to_owned(), "new".to_owned())];
    pack_with(&files.plain, &files.packed, &added).unwrap();
    assert_same_content(&files.plain, &files.packed);
    let trace = Trace::open(&[&files.packed]).unwrap();
    assert_eq!(trace.parts[0].metadata(), [("host".to_owned(), "a".to_owned()), added[0].clone()]);
    assert!(trace.parts[1].metadata().is_empty());
}

#[test]
fn a_part_within_another_one_is_refused() {
    let files = written(&ranks(1, 3000));
    let mut bytes = fs::read(&files.plain).unwrap();
    // The second rank's entry is the first one's.
    bytes.copy_within(56..80, 80);
    fs::write(&files.plain, &bytes).unwrap();
    let error = pack(&files.plain, &files.plain).unwrap_err();
    assert!(error.to_string().contains("overlaps another part"), "{error}");
    assert_eq!(fs::read(&files.plain).unwrap(), bytes, "it stays as it is");
}

#[test]
fn every_flipped_bit_is_noticed() {
    let files = written(&ranks(2, 3000));
    pack(&files.plain, &files.packed).unwrap();
    let whole = fs::read(&files.packed).unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    let damaged = files.plain.with_file_name("damaged");
    let mut noticed = 0;
    for _ in 0..300 {
        let mut bytes = whole.clone();
        let bit = random.usize(..8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&damaged, &bytes).unwrap();
        let opened = Trace::open(&[&damaged]);
        match pack(&damaged, &files.unpacked) {
            Ok(_) => {
                // Between two sections, or in the room for more entries.
                assert!(opened.is_ok_and(|trace| trace.problems.is_empty()));
                assert_same_content(&files.packed, &damaged);
            }
            Err(PackError::Damaged { .. } | PackError::Unreadable(_)) => {
                noticed += 1;
                assert!(!opened.is_ok_and(|trace| trace.problems.is_empty()));
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(noticed > 100, "{noticed}");
}

/// Blocks that have the right checksums but are not what a packer writes.
#[test]
fn a_forged_block_ends_no_reader() {
    let files = written(&ranks(4, 3000));
    pack(&files.plain, &files.packed).unwrap();
    let whole = fs::read(&files.packed).unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    let forged = files.plain.with_file_name("forged");
    for _ in 0..200 {
        let bytes = forge::with_a_changed_block(&whole, &mut random);
        fs::write(&forged, &bytes).unwrap();
        if let Ok(trace) = Trace::open(&[&forged]) {
            let (operations, clock) = (Operations::of(&trace), Clock::of(&trace));
            for operation in &operations.operations {
                operation.run_times(&trace, &clock, RunTime::Global);
            }
            let _ = unpack(&forged, &files.unpacked);
        }
    }
}

/// Changes bytes of a packed trace so that all checksums hold.
mod forge {
    use mpitrace_format::file;
    use mpitrace_format::layout::*;
    use mpitrace_format::part;

    pub fn with_a_changed_block(whole: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        let entry: PartEntry = at(&bytes, file::part_entry_offset(random.u32(..2)) as usize);
        let start = entry.offset as usize;
        let mut header: PartHeader = at(&bytes, start);
        let place = |section: usize| start + size_of::<PartHeader>() + section * size_of::<SectionEntry>();
        let mut directory: Vec<SectionEntry> =
            (0..header.sections as usize).map(|section| at(&bytes, place(section))).collect();
        let columns: Vec<usize> =
            (0..directory.len()).filter(|&section| directory[section].encoding == encoding::BLOCKS).collect();
        let chosen = columns[random.usize(..columns.len())];
        let section = start + directory[chosen].offset as usize;
        let blocks: BlocksHeader = at(&bytes, section);
        let index = section + size_of::<BlocksHeader>();
        let mut block: BlockEntry = at(&bytes, index);
        let of_block = section + block.offset as usize..section + block.offset as usize + block.length as usize;
        for _ in 0..random.usize(1..4) {
            // Most often what the rest depends on.
            let near = if random.bool() { 16.min(of_block.len()) } else { of_block.len() };
            bytes[of_block.start + random.usize(..near)] = random.u8(..);
        }
        block.crc = crc32fast::hash(&bytes[of_block]);
        put(&mut bytes, index, &block);
        let head = size_of::<BlocksHeader>() + blocks.blocks as usize * size_of::<BlockEntry>();
        directory[chosen].crc = crc32fast::hash(&bytes[section..section + head]);
        directory.iter().enumerate().for_each(|(number, entry)| put(&mut bytes, place(number), entry));
        header.crc = part::checksum(&header, &directory);
        put(&mut bytes, start, &header);
        bytes
    }

    fn at<T: bytemuck::AnyBitPattern>(bytes: &[u8], offset: usize) -> T {
        bytemuck::pod_read_unaligned(&bytes[offset..offset + size_of::<T>()])
    }

    fn put<T: bytemuck::NoUninit>(bytes: &mut [u8], offset: usize, value: &T) {
        bytes[offset..offset + size_of::<T>()].copy_from_slice(bytemuck::bytes_of(value));
    }
}
