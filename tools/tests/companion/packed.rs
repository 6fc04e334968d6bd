//! `mpitrace pack`, and the other commands over what it writes.

use std::fs;

use mpitrace_testing::synthetic::SyntheticRank;

use crate::support::{Folder, killed, mpitrace, plain};

/// Packs the trace; the version of what comes of it.
fn packed(trace: &str, output: &str) -> u8 {
    let ran = mpitrace(&["pack", trace, "-o", output]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    fs::read(output).unwrap()[8]
}

#[test]
fn every_command_reads_both_forms() {
    for (ranks, version) in [(&plain()[..], 3), (&killed()[..], 2)] {
        // Some commands show a file's name.
        let (folder, other) = (Folder::new(), Folder::new());
        let (trace, small) = (folder.trace(ranks), other.path("a.mpitrace"));
        assert_eq!(packed(&trace, &small), version);
        let commands: [&[&str]; 9] = [
            &["info"],
            &["info", "--json"],
            &["dump", "--json"],
            &["categorize", "--json"],
            &["stats", "--json"],
            &["diagnose", "--json"],
            &["clock", "--json"],
            &["export", "--format", "csv", "-o", "-"],
            &["report", "--json"],
        ];
        for command in commands {
            let [of_plain, of_packed] = [&trace, &small].map(|file| mpitrace(&[command, &[file.as_str()]].concat()));
            assert!(of_packed.stdout == of_plain.stdout, "{command:?} differs");
            assert_eq!((of_packed.code, of_packed.stderr), (of_plain.code, of_plain.stderr), "{command:?}");
        }
        let again = mpitrace(&["pack", &small, "-o", &other.path("again.mpitrace")]);
        assert!(again.stderr.ends_with(" as before: nothing to compress\n"), "{}", again.stderr);
        let back = folder.path("back");
        assert_eq!(mpitrace(&["pack", "--raw", &small, "-o", &back]).code, 0);
        assert!(fs::read(&trace).unwrap() == fs::read(&back).unwrap());
    }
}

#[test]
fn several_traces_are_packed_in_their_places() {
    let folder = Folder::new();
    let traces = [folder.trace(&plain()), folder.path("b.mpitrace")];
    fs::copy(&traces[0], &traces[1]).unwrap();
    let ran = mpitrace(&["pack", "--json", &traces[0], &traces[1]]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let written = ran.json();
    for (index, trace) in traces.iter().enumerate() {
        let [before, bytes] = ["bytes_before", "bytes"].map(|key| written[index][key].as_u64().unwrap());
        assert!(bytes <= before && fs::metadata(trace).unwrap().len() == bytes);
        assert_eq!(written[index]["records"], 123);
        assert!(written[index]["bytes_per_record"].as_f64().unwrap() < 36.0);
    }
}

#[test]
fn what_cannot_be_packed_is_said_in_one_line() {
    let folder = Folder::new();
    let trace = folder.trace(&[SyntheticRank::new(0, 1)]);
    let text = folder.file("text", b"no trace, but long enough to have a header of sixty bytes in it");
    let mut bytes = fs::read(&trace).unwrap();
    bytes[8] = 4;
    let newer = folder.file("newer", &bytes);
    let expected = [
        (&["pack", "nowhere"][..], "nowhere"),
        (&["pack", &text], "is not a trace"),
        (&["pack", &newer], "is of format version 4, this program reads 1 to 3"),
        (&["pack", &trace, &trace, "-o", "x"], "-o needs exactly one trace"),
        (&["pack", &trace, "-o", "/nonexistent/x"], "/nonexistent/x"),
    ];
    for (arguments, said) in expected {
        let ran = mpitrace(arguments);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{arguments:?}");
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(fs::read_dir(folder.path("")).unwrap().count(), 3, "nothing is left");
}
