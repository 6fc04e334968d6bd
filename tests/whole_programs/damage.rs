//! Files that are no whole trace: one clear line and exit code 2, or what is whole of it, and never a crash.

use crate::support::companion::{assert_refused, mpitrace};
use crate::support::process::Finished;
use crate::support::{Case, On, Test};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

pub const TESTS: &[Test] = &[
    Test::new("by_truncation_is_found", truncated).on(On::Any),
    Test::new("by_a_changed_byte_is_found", changed).on(On::Any).second_tier(),
    Test::new("foreign_files_are_refused", foreign).on(On::Any),
];

fn whole(case: &Case) -> Vec<u8> {
    let trace = case.launch(2, "counts.c").trace().run().trace;
    fs::read(&trace.path).unwrap_or_else(|error| panic!("{}: {error}", trace.path.display()))
}

const COMMANDS: [&str; 3] = ["info", "dump", "categorize"];

fn ask(command: &str, path: &Path) -> Finished {
    let words: [&OsStr; 3] = [command.as_ref(), path.as_ref(), "--json".as_ref()];
    mpitrace(&words)
}

/// Refused, or shown as incomplete, or - where nothing that counts was hit - the same as without the damage.
fn assert_harmless(path: &Path, good: &[Finished], what: &str) {
    for (command, good) in COMMANDS.iter().zip(good) {
        let finished = ask(command, path);
        match finished.code {
            0 => assert_eq!(finished.stdout, good.stdout, "{command} gives other numbers without a word, {what}"),
            1 => assert!(!finished.stdout.is_empty(), "{command} on {what}"),
            _ => assert_refused(&finished, &format!("{command} on {what}")),
        }
    }
}

fn truncated(case: &Case) {
    let bytes = whole(case);
    let path = case.folder.join("damaged");
    let lengths = [0, 1, 7, 8, 9, 15, 16, 63, 64, 100, 4095, 4096, 4097];
    let parts = (1..32).map(|i| bytes.len() * i / 32);
    let ends = [1, 2, 8, 64].map(|i| bytes.len() - i);
    fs::write(&path, &bytes).expect("a trace");
    let good = COMMANDS.map(|command| ask(command, &path).stdout);
    for length in lengths.into_iter().chain(parts).chain(ends).filter(|length| *length < bytes.len()) {
        fs::write(&path, &bytes[..length]).expect("a truncated trace");
        for (command, good) in COMMANDS.iter().zip(&good) {
            let finished = ask(command, &path);
            let what = format!("{command} on the first {length} of {} bytes", bytes.len());
            match finished.code {
                // The last page is padded: without the padding a trace has all of its data.
                0 => assert_eq!(&finished.stdout, good, "{what}"),
                1 => assert!(!finished.stdout.is_empty(), "{what}"),
                _ => assert_refused(&finished, &what),
            }
        }
    }
}

fn changed(case: &Case) {
    let bytes = whole(case);
    let path = case.folder.join("damaged");
    fs::write(&path, &bytes).expect("the whole trace");
    let good: Vec<_> = COMMANDS.iter().map(|command| ask(command, &path)).collect();
    assert!(good.iter().all(|finished| finished.code == 0));
    // The headers of the file densely, the rest at places that no alignment favours.
    let places = (0..128).chain((128..bytes.len()).step_by(bytes.len() / 150 + 1));
    for at in places {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x81;
        fs::write(&path, damaged).expect("a damaged trace");
        assert_harmless(&path, &good, &format!("a trace with byte {at} changed"));
    }
}

fn foreign(case: &Case) {
    let path = case.folder.join("foreign");
    let contents: [&[u8]; 5] = [b"", b"MPI", &[0; 10_000], &[0xff; 10_000], b"{\"ranks\": 2}\n"];
    for content in contents {
        fs::write(&path, content).expect("a foreign file");
        for command in COMMANDS {
            assert_refused(&ask(command, &path), &format!("{command} on {} foreign bytes", content.len()));
        }
    }
    for path in ["/bin/sh", "/dev/null", "/", "/nonexistent/run.mpitrace"] {
        for command in COMMANDS {
            assert_refused(&ask(command, path.as_ref()), &format!("{command} on {path}"));
        }
    }
}
