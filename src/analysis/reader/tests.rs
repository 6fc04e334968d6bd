//! Traces are read as they were written, also those of earlier versions.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use bytemuck::Zeroable;
use mpitrace_format::layout::*;
use mpitrace_format::{file, part};

use super::Trace;
use mpitrace_testing::synthetic::{self, SyntheticRank};

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
    assert_eq!(part.operation(), [0, INTERRUPTED | INTERRUPTED_BEFORE, 0]);
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
fn an_interruption_of_no_call_is_refused() {
    let scratch = Scratch::new("no-call");
    let mut rank = interrupted();
    rank.interrupt(InterruptionEntry::zeroed());
    rank.wrap(3);
    synthetic::write(&scratch.0, std::slice::from_ref(&rank)).unwrap();
    assert!(Trace::open(&[&scratch.0]).is_ok());
    // Leaving out the calls leaves their interruptions out too; one that is added by hand leads nowhere.
    rank.wrap(0);
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
fn a_trace_of_the_first_version_is_read() {
    let scratch = Scratch::new("version-1");
    let mut rank = SyntheticRank::new(0, 1);
    let operation = rank.operation("MPI_Barrier", 0, 0);
    rank.call(operation, 100, 200);
    synthetic::write(&scratch.0, &[rank]).unwrap();
    set_version(&scratch.0, 1);
    let trace = Trace::open(&[&scratch.0]).unwrap();
    assert!(trace.complete, "{:?}", trace.problems);
    let part = &trace.parts[0];
    assert_eq!((part.enter(), part.exit(), part.operation()), (&[100][..], &[200][..], &[0][..]));
    assert_eq!(part.threads()[0].interruptions_by, interruptions_by::UNKNOWN);
    assert_eq!(part.interruptions(), []);
    for unknown in [0, PACKED_VERSION + 1] {
        set_version(&scratch.0, unknown);
        let refused = Trace::open(&[&scratch.0]).unwrap_err().to_string();
        assert!(refused.contains(&format!("format version {unknown}")), "{refused}");
    }
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
