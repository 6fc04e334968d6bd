//! Traces are read as they were written, and what was not written so is refused.

use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use bytemuck::Zeroable;
use mpitrace_format::layout::*;
use mpitrace_format::packed::BlockHeader;
use mpitrace_format::{file, part};

use super::Trace;
use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};

/// A file that is removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("mpitrace-reader-{}-{name}.mpitrace", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A rank with three calls, the second of which was interrupted in and before it.
fn interrupted() -> SyntheticRank {
    let mut rank = SyntheticRank::new(0, 1);
    let operation = rank.operation("MPI_Barrier", 0, 0);
    let entry = InterruptionEntry { off_ns: 700, error_ns: 10, elapsed_ns: 900, switches: 2, ..Zeroable::zeroed() };
    rank.call(operation, 100, 200);
    rank.call(operation, 300, 1400);
    rank.interrupt(InterruptionEntry { flags: interruption_flags::BETWEEN, ..entry });
    rank.interrupt(InterruptionEntry { flags: interruption_flags::TIMED, ..entry });
    rank.call(operation, 1500, 1600);
    rank
}

#[test]
fn interruptions_are_found_by_their_call() {
    let scratch = Scratch::new("interruptions");
    synthetic::write(&scratch.0, &[interrupted()]).unwrap();
    let trace = Trace::open(&[&scratch.0]).unwrap();
    let part = &trace.parts[0];
    assert_eq!([0, 1, 2].map(|record| part.operation_of(record)), [0, INTERRUPTED | INTERRUPTED_BEFORE, 0]);
    assert_eq!([0, 1, 2].map(|record| part.interruptions_of(record).len()), [0, 2, 0]);
    let [before, inside] = part.interruptions_of(1) else { panic!("two entries") };
    assert_eq!([before.flags, inside.flags], [interruption_flags::BETWEEN, interruption_flags::TIMED]);
    assert_eq!((inside.off_ns, inside.error_ns, inside.elapsed_ns, inside.switches), (700, 10, 900, 2));
}

#[test]
fn losses_beyond_any_number_are_the_greatest_one() {
    let scratch = Scratch::new("dropped");
    let ranks = [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let operation = rank.operation("MPI_Barrier", 0, 0);
        rank.call(operation, 1000, 1500);
        rank.last_thread().unwrap().untracked = u64::MAX;
        rank
    });
    synthetic::write(&scratch.0, &ranks).unwrap();
    assert_eq!(Trace::open(&[&scratch.0]).unwrap().dropped(), u64::MAX);
}

#[test]
fn a_file_of_which_no_rank_can_be_read_hides_no_other() {
    let (whole, damaged) = (Scratch::new("whole"), Scratch::new("no-rank"));
    for (scratch, rank) in [(&whole, 0), (&damaged, 1)] {
        synthetic::write(&scratch.0, &[SyntheticRank::new(rank, 2)]).unwrap();
    }
    let file = std::fs::File::options().write(true).open(&damaged.0).unwrap();
    file.set_len(file::parts_start(1) + 100).unwrap();
    let trace = Trace::open(&[&whole.0, &damaged.0]).unwrap();
    assert_eq!((trace.parts.len(), trace.parts[0].rank(), trace.complete), (1, 0, false));
    let expected = format!("{}: the part of rank 1 ends beyond the end of the file", damaged.0.display());
    assert_eq!(trace.problems[0], expected);
    assert!(trace.missing.into_iter().flatten().eq(1..2));
    let refused = Trace::open(&[&damaged.0]).unwrap_err().to_string();
    assert!(refused.contains("no rank can be read") && refused.contains("rank 1 ends beyond"), "{refused}");
}

#[test]
fn an_interruption_of_no_call_is_refused() {
    let scratch = Scratch::new("no-call");
    let mut rank = interrupted();
    rank.interrupt(InterruptionEntry::zeroed());
    rank.leave_last(3);
    synthetic::write(&scratch.0, std::slice::from_ref(&rank)).unwrap();
    assert!(Trace::open(&[&scratch.0]).is_ok());
    // Leaving out the calls leaves their interruptions out too; one that is added by hand leads nowhere.
    rank.leave_last(0);
    synthetic::write(&scratch.0, std::slice::from_ref(&rank)).unwrap();
    assert_eq!(Trace::open(&[&scratch.0]).unwrap().parts[0].interruptions().len(), 0);
    let mut content = rank.content(&[0]);
    content.interruptions.push(InterruptionEntry::zeroed());
    let file = std::fs::File::create(&scratch.0).unwrap();
    let offset = file::parts_start(1);
    content.write_at(&file, offset).unwrap();
    let length = content.length();
    file::write_part_entries(&file, 0, &[PartEntry { offset, length, ..PartEntry::zeroed() }]).unwrap();
    file::write_header(&file, [1; 16], 1, 1, offset + length, true).unwrap();
    let refused = Trace::open(&[&scratch.0]).unwrap_err().to_string();
    assert!(refused.contains("an interruption without a call"), "{refused}");
}

#[test]
fn a_trace_of_another_version_is_refused() {
    let scratch = Scratch::new("version");
    synthetic::write(&scratch.0, &[interrupted()]).unwrap();
    for unknown in [0, VERSION + 1] {
        set_version(&scratch.0, unknown);
        let refused = Trace::open(&[&scratch.0]).unwrap_err().to_string();
        assert!(refused.contains(&format!("format version {unknown}")), "{refused}");
    }
    set_version(&scratch.0, VERSION);
    assert!(Trace::open(&[&scratch.0]).unwrap().complete);
}

/// Makes the trace one of this version, with its one part and all checksums.
fn set_version(path: &PathBuf, version: u32) {
    let trace = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut header = FileHeader::zeroed();
    trace.read_exact_at(bytemuck::bytes_of_mut(&mut header), 0).unwrap();
    header.version = version;
    header.crc = file::checksum(&header);
    trace.write_all_at(bytemuck::bytes_of(&header), 0).unwrap();
    let offset = file::parts_start(1);
    let mut header = PartHeader::zeroed();
    trace.read_exact_at(bytemuck::bytes_of_mut(&mut header), offset).unwrap();
    let mut directory = vec![SectionEntry::zeroed(); header.sections as usize];
    let behind = offset + size_of::<PartHeader>() as u64;
    trace.read_exact_at(bytemuck::cast_slice_mut(&mut directory), behind).unwrap();
    header.version = version;
    header.crc = part::checksum(&header, &directory);
    trace.write_all_at(bytemuck::bytes_of(&header), offset).unwrap();
}

/// A program of random calls: requests, a second thread, calls that do not return.
fn random_ranks(seed: u64, calls: u32) -> Vec<SyntheticRank> {
    let make = |number| {
        let (mut rank, mut random) = (SyntheticRank::new(number, 2), fastrand::Rng::with_seed(seed));
        let other = rank.communicator(7, 2, number, Some("other"));
        let operations: Vec<u32> = ["MPI_Allreduce", "MPI_Bcast", "MPI_Ibarrier"]
            .iter()
            .zip([0, 0, other])
            .map(|(function, communicator)| rank.operation(function, communicator, 8))
            .collect();
        let mut now = random.u64(..1 << 50);
        for call in 0..calls {
            let which = if random.u8(..20) == 0 { random.usize(..3) } else { call as usize % 3 };
            now += random.u64(..200);
            let exit = now + 1000 + random.u64(..2000);
            match random.u16(..500) {
                0 => rank.thread(),
                1 => rank.call(operations[which], now, 0),
                _ if which == 2 => {
                    let ticks =
                        SyntheticRequest { init: random.u64(..99), wait: random.u64(..9999), tests: 3, test: 0 };
                    rank.call_with_request(operations[2], now, exit, ticks);
                }
                _ => rank.call(operations[which], now, exit),
            }
            now = exit;
        }
        rank
    };
    vec![make(0), make(1)]
}

#[test]
fn values_are_the_same_in_any_order_and_however_many_are_kept() {
    let scratch = Scratch::new("values");
    synthetic::write(&scratch.0, &random_ranks(3, 20_000)).unwrap();
    let (trace, spent) = (Trace::open(&[&scratch.0]).unwrap(), Trace::open(&[&scratch.0]).unwrap());
    spent.spend_budget();
    for trace in [&trace, &spent] {
        for part in &trace.parts {
            assert_eq!(part.blocks().map(|block| block.range.len()).sum::<usize>(), part.records());
            let all: Vec<_> = part
                .blocks()
                .flat_map(|block| {
                    let ([enter, exit], (operation, position)) = (block.times(), block.calls());
                    let repetition = block.repetition(&operation);
                    let row = |at: usize| (enter[at], exit[at], operation[at], position[at], repetition[at]);
                    (0..block.range.len()).map(row).collect::<Vec<_>>()
                })
                .collect();
            assert!(part.all_times().eq(all.iter().map(|row| (row.0, row.1))));
            // In order, in the reverse order, and two far apart in turn.
            let count = part.records();
            let apart = (0..40).map(|at| if at % 2 == 0 { at } else { count - at });
            for record in (0..count).chain((0..count).rev().step_by(7)).chain(apart) {
                let (enter, exit) = part.times_of(record);
                let (position, repetition) = (part.position_of(record), part.repetition_of(record));
                assert_eq!((enter, exit, part.operation_of(record), position, repetition), all[record]);
                let request = part.request_of(record).unwrap();
                assert_eq!(request.tests, if all[record].2 == 2 && exit != 0 { 3 } else { 0 });
            }
            let records: Vec<u32> = (0..count as u32).filter(|record| record % 3 != 1).chain([0, 5]).collect();
            let (mut enter, mut exit) = (vec![1], vec![2]);
            part.read_times(&records, &mut enter, &mut exit);
            let expected: (Vec<u64>, Vec<u64>) = records.iter().map(|&record| part.times_of(record as usize)).unzip();
            assert_eq!((enter, exit), expected);
        }
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let scratch = Scratch::new("flipped");
    synthetic::write(&scratch.0, &random_ranks(2, 3000)).unwrap();
    let whole = std::fs::read(&scratch.0).unwrap();
    let content =
        |trace: &Trace| trace.parts.iter().map(|part| part.all_times().collect::<Vec<_>>()).collect::<Vec<_>>();
    let expected = content(&Trace::open(&[&scratch.0]).unwrap());
    let mut random = fastrand::Rng::with_seed(3);
    let mut noticed = 0;
    for _ in 0..300 {
        let mut bytes = whole.clone();
        let bit = random.usize(..8 * bytes.len());
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&scratch.0, &bytes).unwrap();
        match Trace::open(&[&scratch.0]) {
            // Between two sections, or in the room for more entries.
            Ok(trace) if trace.problems.is_empty() => assert!(content(&trace) == expected),
            _ => noticed += 1,
        }
    }
    assert!(noticed > 100, "{noticed}");
}

/// Blocks that have the right checksums but are not what a packer writes.
#[test]
fn a_forged_block_ends_no_reader() {
    use crate::clock::Clock;
    use crate::operations::Operations;
    use crate::run_time::RunTime;
    let scratch = Scratch::new("forged");
    synthetic::write(&scratch.0, &random_ranks(4, 3000)).unwrap();
    let whole = std::fs::read(&scratch.0).unwrap();
    let trace = Trace::open(&[&scratch.0]).unwrap();
    let blocks: Vec<Range<usize>> = trace.parts.iter().flat_map(|part| part.block_bytes()).collect();
    let mut random = fastrand::Rng::with_seed(5);
    let mut read = 0;
    for _ in 0..300 {
        let mut bytes = whole.clone();
        let block = blocks[random.usize(..blocks.len())].clone();
        for _ in 0..random.usize(1..4) {
            // Most often what the rest depends on.
            let near = if random.bool() { 100 } else { block.len() };
            bytes[block.start + random.usize(size_of::<BlockHeader>()..near.min(block.len()))] = random.u8(..);
        }
        bytes[block.start + 4..block.start + 8].fill(0);
        let crc = crc32fast::hash(&bytes[block.clone()]);
        bytes[block.start + 4..block.start + 8].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&scratch.0, &bytes).unwrap();
        if let Ok(trace) = Trace::open(&[&scratch.0]) {
            read += usize::from(trace.problems.is_empty());
            let (operations, clock) = (Operations::new(&trace), Clock::new(&trace));
            for operation in &operations.operations {
                operation.run_times(&trace, &clock, RunTime::Global);
            }
            for part in &trace.parts {
                assert!(
                    (0..part.records()).all(|record| part.request_of(record).is_some() && part.times_of(record).1 != 1)
                );
            }
        }
    }
    assert!(read > 100, "{read}");
}

#[test]
fn files_of_two_runs_are_no_trace_together() {
    let files = [("one", 1, 3), ("other-job", 2, 3), ("other-size", 1, 2), ("same", 1, 3)];
    let files: Vec<Scratch> = (0..)
        .zip(files)
        .map(|(rank, (name, job, size))| {
            let mut of_rank = SyntheticRank::new(rank % 2, size);
            of_rank.header.job = [job; 16];
            let scratch = Scratch::new(&format!("two-runs-{name}"));
            synthetic::write(&scratch.0, &[of_rank]).unwrap();
            scratch
        })
        .collect();
    let open = |other: usize| Trace::open(&[&files[0].0, &files[other].0]);
    for other in [1, 2] {
        assert!(matches!(open(other), Err(mpitrace_format::TraceError::Foreign { .. })), "{other}");
    }
    assert_eq!(open(3).unwrap().parts.len(), 2);
}
