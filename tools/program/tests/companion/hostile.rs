//! Files whose maker wants harm: with checksums that fit, and numbers at which arithmetic ends. The fuzz targets
//! (tests/fuzz) try millions; here are some, through the commands, and what the targets have found.

use std::path::Path;

use mpitrace_format::layout::{Anchor, ColumnEntry, OPERATION_MASK, OperationEntry, RankHeader, SegmentHeader};
use mpitrace_platform::node_files;
use mpitrace_testing::synthetic::SyntheticRank;

use crate::support::{Folder, Ran, mpitrace};

#[path = "../../../../tests/fuzz/src/checksums.rs"]
mod checksums;
#[path = "../../../../tests/fuzz/src/mutate.rs"]
mod mutate;
#[path = "../../../../tests/fuzz/src/places.rs"]
mod places;
#[allow(dead_code, reason = "texts are for the targets")]
#[path = "../../../../tests/fuzz/src/seeds/mod.rs"]
mod seeds;

/// So many mutations of each seed.
const TRIALS: u32 = 24;

/// The commands that read a trace. `OUT` is a file that may be written.
const COMMANDS: [&[&str]; 12] = [
    &["info"],
    &["info", "--json"],
    &["dump", "--json"],
    &["categorize", "--json"],
    &["categorize", "--json", "--method", "roth", "--time", "global"],
    &["stats", "--json"],
    &["diagnose", "--json"],
    &["clock", "--json"],
    &["report", "-o", "OUT.html"],
    &["report"],
    &["export", "--format", "csv", "-o", "OUT/"],
    &["export", "--format", "perfetto", "-o", "OUT.perfetto"],
];

/// A command has done its work, or has refused in one line.
fn assert_ended_well(ran: &Ran, what: &str) {
    assert!([0, 1, 2].contains(&ran.code), "{what}: {} {}", ran.code, ran.stderr);
    if ran.code == 2 {
        // One line, behind what may be said of an incomplete trace.
        let lines: Vec<&str> = ran.stderr.lines().filter(|line| !line.contains("this trace is incomplete")).collect();
        assert_eq!((ran.stdout.as_str(), lines.len()), ("", 1), "{what}: {}", ran.stderr);
    }
}

/// Turns and cuts bytes.
fn turned(bytes: &mut [u8], size: usize, _: usize) -> usize {
    bytes[..size].rotate_right(size.min(3));
    size - size / 9
}

/// Mutations of mutations: the harm of one is seldom enough.
fn mutated(seed: &[u8], trial: u32, places: fn(&[u8]) -> Vec<std::ops::Range<usize>>) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for step in 0..=trial % 3 {
        let size = bytes.len();
        let size = mutate::file(&mut bytes, size, 7 + 31 * trial + step, places, turned);
        bytes.truncate(size);
    }
    bytes
}

#[test]
fn a_hostile_trace_is_refused_or_shown() {
    let folder = Folder::new();
    let out = folder.path("OUT");
    let mut command = COMMANDS.iter().cycle();
    for (name, seed) in seeds::trace::all().unwrap() {
        for trial in 0..TRIALS {
            let mut bytes = mutated(&seed, trial, places::of_trace);
            checksums::repair(&mut bytes);
            let path = folder.file("hostile.mpitrace", &bytes);
            let words = command.next().unwrap().iter().map(|word| word.replace("OUT", &out));
            let words: Vec<String> = words.chain([path]).collect();
            let ran = mpitrace(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_ended_well(&ran, &format!("{name}, trial {trial}, {words:?}"));
        }
    }
}

/// The checksums are repaired: else the test above would test nothing but them.
#[test]
fn repaired_traces_are_not_refused_for_their_checksums() {
    let folder = Folder::new();
    let mut shown = 0;
    for (_, seed) in seeds::trace::all().unwrap() {
        let mut bytes = seed.clone();
        // The job's token: nothing else depends on it.
        bytes[20] ^= 0xff;
        assert_eq!(mpitrace(&["info", &folder.file("damaged.mpitrace", &bytes)]).code, 2);
        checksums::repair(&mut bytes);
        shown += u32::from(mpitrace(&["info", &folder.file("repaired.mpitrace", &bytes)]).code < 2);
    }
    assert!(shown > 4, "{shown}");
}

/// A trace of non-blocking calls without the columns of requests was a panic.
#[test]
fn requests_without_columns_are_diagnosed() {
    let folder = Folder::new();
    let ranks = [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let started = rank.operation("MPI_Iallreduce", 0, 8);
        (0..40).for_each(|i| rank.call(started, 1000 * i + 1, 1000 * i + 500 + i % 7));
        rank
    });
    let ran = mpitrace(&["diagnose", "--json", &folder.trace(&ranks)]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

/// Leaves a segment of these bytes, and a sound one of the same job beside it.
fn leave(folder: &Folder, bytes: &[u8]) -> [String; 2] {
    let name = |number: u32| format!("{}hostile-{number}{}", node_files::ANY_PREFIX, node_files::SEGMENT);
    [folder.file(&name(1), bytes), folder.file(&name(2), &seeds::segment::plain(1))]
}

#[test]
fn hostile_leftovers_are_recovered_or_stay() {
    for (name, seed) in seeds::segment::all() {
        for trial in 0..TRIALS {
            let folder = Folder::new();
            let left = leave(&folder, &mutated(&seed, trial, places::of_segment));
            let here = folder.path("");
            let out = folder.path("out.mpitrace");
            let what = format!("{name}, trial {trial}");
            assert_ended_well(&mpitrace(&["recover", "--list", &here]), &what);
            let ran = mpitrace(&["recover", &here, "--job", "all", "-o", &out]);
            assert!([0, 1, 2].contains(&ran.code), "{what}: {} {}", ran.code, ran.stderr);
            // A sound segment goes only into a trace that can be read.
            if !Path::new(&left[1]).exists() {
                let traces = [out, folder.path("out.2.mpitrace")];
                let read = traces.iter().filter(|path| Path::new(path).exists()).map(|path| mpitrace(&["info", path]));
                let codes: Vec<i32> = read.map(|ran| ran.code).collect();
                assert!(!codes.is_empty() && codes.iter().all(|&code| code < 2), "{what}: {codes:?} {}", ran.stderr);
            }
        }
    }
}

/// Changes a segment of rank 0, and recovers it beside a sound one of rank 1.
fn recovered(change: impl FnOnce(&mut [u8], SegmentHeader)) -> (Ran, serde_json::Value, bool) {
    let folder = Folder::new();
    let mut bytes = seeds::segment::plain(0);
    let header: SegmentHeader = bytemuck::pod_read_unaligned(&bytes[..size_of::<SegmentHeader>()]);
    change(&mut bytes, header);
    let left = leave(&folder, &bytes);
    let out = folder.path("out.mpitrace");
    let ran = mpitrace(&["recover", &folder.path(""), "-o", &out]);
    let info = mpitrace(&["info", "--json", &out]);
    (ran, info.json(), Path::new(&left[0]).exists())
}

/// Stores a structure.
fn put<T: bytemuck::NoUninit>(bytes: &mut [u8], at: usize, value: &T) {
    bytes[at..at + size_of::<T>()].copy_from_slice(bytemuck::bytes_of(value));
}

/// The trace has the other rank, and the hostile segment stays where it is.
fn assert_is_left(change: impl FnOnce(&mut [u8], SegmentHeader), because: &str) {
    let (ran, info, stays) = recovered(change);
    assert!(stays, "{because}: it is gone: {}", ran.stderr);
    assert_eq!(info["missing"], serde_json::json!([0, 2]), "{because}: {}", ran.stderr);
}

#[test]
fn a_sound_segment_is_recovered() {
    let (ran, info, stays) = recovered(|_, _| {});
    assert_eq!((info["missing"].clone(), stays), (serde_json::json!([2]), false), "{}", ran.stderr);
}

/// Two killed jobs of one rank each.
#[test]
fn recover_takes_one_job_or_says_which_there_are() {
    let folder = Folder::new();
    let segment = |job: u8| {
        let name = format!("{}{job}{}", node_files::ANY_PREFIX, node_files::SEGMENT);
        let mut bytes = seeds::segment::plain(0);
        let at = std::mem::offset_of!(SegmentHeader, rank) + std::mem::offset_of!(RankHeader, job);
        bytes[at] = job;
        folder.file(&name, &bytes)
    };
    let segments = [segment(1), segment(2)];
    let left = || segments.iter().filter(|path| Path::new(path).exists()).count();
    let (here, out) = (folder.path(""), folder.path("out.mpitrace"));
    let ran = mpitrace(&["recover", &here, "-o", &out]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count(), left()), (2, "", 1, 2), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 jobs are left: ") && ran.stderr.contains("--job ID"), "{}", ran.stderr);
    let ran = mpitrace(&["recover", &here, "-o", &out, "--job", "7"]);
    assert_eq!((ran.code, ran.stderr.lines().count(), left()), (2, 1, 2), "{}", ran.stderr);
    assert!(!Path::new(&out).exists());
    let list = mpitrace(&["recover", &here, "--list", "--json"]).json();
    let ran = mpitrace(&["recover", &here, "-o", &out, "--job", list[1]["name"].as_str().unwrap()]);
    assert_eq!((ran.code, left()), (0, 1), "{}", ran.stderr);
    // The only one that is left needs no name, and does not go into the trace of the other.
    let ran = mpitrace(&["recover", &here, "-o", &out]);
    assert_eq!((ran.code, left()), (0, 0), "{}", ran.stderr);
    assert!(Path::new(&folder.path("out.2.mpitrace")).exists(), "{}", ran.stderr);
}

/// A job that began 100 s ago and was ended from outside.
#[test]
fn recover_dates_the_end_of_a_job() {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let ended = |options: &[&str]| {
        let folder = Folder::new();
        let mut bytes = seeds::segment::plain(0);
        let anchor = std::mem::offset_of!(RankHeader, first_anchor) + std::mem::offset_of!(Anchor, realtime_ns);
        put(&mut bytes, std::mem::offset_of!(SegmentHeader, rank) + anchor, &(now - 100_000_000_000));
        folder.file(&format!("{}1{}", node_files::ANY_PREFIX, node_files::SEGMENT), &bytes);
        let out = folder.path("out.mpitrace");
        let ran = mpitrace(&[&["recover", &folder.path(""), "-o", &out], options].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let end = mpitrace(&["info", "--json", &out]).json()["ends"][0].clone();
        (end["how"].as_str().unwrap().to_owned(), end["at_s"].as_f64().unwrap())
    };
    let (how, at) = ended(&["--ended"]);
    assert!(how == "job" && (99.0..160.0).contains(&at), "{how} {at}");
    // As a batch system prints it, of a zone that is known here.
    let mut date = std::process::Command::new("date");
    date.args(["-d", &format!("@{}", now / 1_000_000_000 - 40), "+%Y-%m-%dT%H:%M:%S"]);
    let date = String::from_utf8(date.output().unwrap().stdout).unwrap();
    let (how, at) = ended(&["--ended", date.trim()]);
    assert!(how == "job" && (59.0..61.0).contains(&at), "{how} {at}");
    // Before it began it did not end.
    let (how, at) = ended(&["--ended", "2000-01-01T00:00:00Z"]);
    assert!(how == "last-stamp" && at < 50.0, "{how} {at}");
    assert_eq!(ended(&[]).0, "last-stamp");
}

/// Was a division by zero.
#[test]
fn a_segment_with_a_column_of_no_width_stays() {
    let change = |bytes: &mut [u8], header: SegmentHeader| {
        let mut header = header;
        header.rank.columns += 1;
        header.columns[header.rank.columns as usize - 1] = ColumnEntry::default();
        put(bytes, 0, &header);
        assert!(header.rank.columns > 0);
    };
    // It is not taken for a segment at all.
    let (ran, info, stays) = recovered(change);
    assert!(stays && info["missing"] == serde_json::json!([0, 2]), "{}", ran.stderr);
}

/// Was a trace that no command reads, and the segments were gone.
#[test]
fn a_segment_whose_indices_lead_nowhere_stays() {
    assert_is_left(
        |bytes, header| {
            let mut header = header;
            header.columns[0].on_demand = 16;
            put(bytes, 0, &header);
        },
        "no entries of calls",
    );
    assert_is_left(
        |bytes, header| {
            let at = header.operations.offset as usize + std::mem::offset_of!(OperationEntry, communicator);
            put(bytes, at, &99u32);
        },
        "an operation without a communicator",
    );
}

/// A record that cannot be read is counted as lost, and all others of its rank are in the trace.
#[test]
fn a_call_without_an_operation_is_lost_alone() {
    let (ran, info, stays) = recovered(|bytes, header| {
        let at = header.records_offset + header.columns[4].offset;
        put(bytes, at as usize, &OPERATION_MASK);
    });
    assert_eq!((&info["missing"], stays), (&serde_json::json!([2]), false), "{}", ran.stderr);
    let (_, sound, _) = recovered(|_, _| {});
    let number = |info: &serde_json::Value, key: &str| info[key].as_u64().expect("a number");
    assert_eq!((number(&sound, "lost"), number(&info, "records")), (0, number(&sound, "records") - 1));
    assert!(number(&info, "lost") > 0, "{info:#}");
}

/// Which of the two is right is not known: neither is lost.
#[test]
fn segments_of_worlds_of_two_sizes_make_no_trace_together() {
    let (ran, info, stays) = recovered(|bytes, _| {
        let at = std::mem::offset_of!(SegmentHeader, rank) + std::mem::offset_of!(RankHeader, world_size);
        put(bytes, at, &7u32);
    });
    assert_eq!((info["ranks"].as_u64(), stays), (Some(7), false), "{}", ran.stderr);
    assert!(ran.stderr.contains("has another size of MPI_COMM_WORLD"), "{}", ran.stderr);
}
