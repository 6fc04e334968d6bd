//! `mpitrace pack`: the same trace of real programs, in less room, and back.

use crate::support::companion::{assert_refused, mpitrace};
use crate::support::{Case, Test, Trace, binaries};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

pub const TESTS: &[Test] = &[
    Test::new("gives_the_same_trace_in_less_room_and_the_file_back", the_same),
    Test::new("refuses_a_damaged_trace_and_leaves_it", damaged),
    Test::new("is_what_run_does_when_the_job_has_ended", after_run),
];

/// Threads, requests, counters, a ring, clocks that drift apart: the programs of other tests.
fn traces(case: &Case) -> Vec<Trace> {
    let run = |ranks, program: &str, settings: &[(&str, &str)]| {
        let launch = case.launch(ranks, program).trace();
        settings.iter().fold(launch, |launch, (name, value)| launch.set(name, value)).run().trace
    };
    vec![
        run(3, "threads.c", &[]),
        run(3, "requests.c", &[]),
        run(2, "messages.c", &[("MPITRACE_EVENTS", "messages")]),
        run(2, "repeat.c", &[("MPITRACE_FULL", "ring"), ("MPITRACE_CAPACITY", "50")]),
        run(
            4,
            "synchronised.c",
            &[("MPITRACE_TEST_CLOCK", "1:offset_ns=1500000000,ppm=37;2-3:offset_ns=-2e9,ppm=-12")],
        ),
    ]
}

#[track_caller]
fn pack(path: &Path, output: &Path, options: &[&str]) {
    let mut arguments: Vec<&OsStr> = vec!["pack".as_ref(), path.as_ref(), "-o".as_ref(), output.as_ref()];
    arguments.extend(options.iter().map(OsStr::new));
    let finished = mpitrace(&arguments);
    assert_eq!((finished.code, finished.stdout.as_str()), (0, ""), "{}", finished.stderr);
}

fn the_same(case: &Case) {
    let mut columns = 0;
    for trace in traces(case) {
        let packed = trace.path.with_extension("packed");
        let back = trace.path.with_extension("back");
        pack(&trace.path, &packed, &[]);
        pack(&packed, &back, &["--raw"]);
        let [plain, again] = [&trace.path, &back].map(|path| fs::read(path).expect("it was just written"));
        assert!(plain == again, "{}: another file comes back", trace.path.display());
        assert!(fs::metadata(&packed).is_ok_and(|packed| packed.len() <= plain.len() as u64));
        columns += usize::from(fs::read(&packed).is_ok_and(|bytes| bytes[8] == 3));
        for command in [&["info", "--json"][..], &["dump", "--json"], &["stats", "--json"], &["clock", "--json"]] {
            let [of_plain, of_packed] = [&trace.path, &packed].map(|path| {
                let mut arguments: Vec<&OsStr> = command.iter().map(OsStr::new).collect();
                arguments.push(path.as_ref());
                mpitrace(&arguments)
            });
            assert!(!of_plain.stdout.is_empty(), "{command:?}: {}", of_plain.stderr);
            assert_eq!((of_plain.code, of_plain.stdout), (of_packed.code, of_packed.stdout), "{command:?}");
        }
    }
    assert!(columns >= 2, "only {columns} of the traces became smaller");
}

fn damaged(case: &Case) {
    let trace = case.launch(2, "repeat.c").arg("5000").trace().run().trace;
    let packed = trace.path.with_extension("packed");
    pack(&trace.path, &packed, &[]);
    for path in [&trace.path, &packed] {
        let mut bytes = fs::read(path).expect("it was just written");
        // In the header of the first part.
        let first = u64::from_le_bytes(bytes[56..64].try_into().expect("8 bytes")) as usize;
        bytes[first + 60] ^= 1;
        fs::write(path, &bytes).expect("there is room");
        assert_refused(&mpitrace(&[OsStr::new("pack"), path.as_ref()]), "a damaged part");
        assert!(fs::read(path).is_ok_and(|left| left == bytes), "it stays as it is");
    }
}

fn after_run(case: &Case) {
    let path = case.folder.join("by-run.mpitrace");
    let raw = case.folder.join("raw.mpitrace");
    for (path, option) in [(&path, None), (&raw, Some("--raw"))] {
        let mut words: Vec<OsString> = vec![binaries::companion().into(), "run".into()];
        words.extend(option.map(OsString::from));
        words.extend(["-o".into(), path.into(), "--".into()]);
        let done = case.launch(2, "repeat.c").arg("5000").run_under(&words);
        assert_eq!(done.code, 0, "{}", done.stderr);
    }
    let [packed, raw] = [&path, &raw].map(|path| fs::read(path).expect("a trace"));
    assert_eq!((packed[8], raw[8]), (3, 2), "the versions");
    assert!(mpitrace(&[OsStr::new("info"), path.as_ref()]).code == 0);
}
