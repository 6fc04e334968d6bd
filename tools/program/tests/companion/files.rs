//! Several files of one run: joined by every command, or refused.

use std::path::Path;

use mpitrace_testing::synthetic::{self, SyntheticRank};
use serde_json::json;

use crate::support::{Folder, mpitrace, plain};

/// A trace of some ranks in a file of this name.
fn write(folder: &Folder, name: &str, ranks: &[SyntheticRank]) -> String {
    let path = folder.path(name);
    synthetic::write(Path::new(&path), ranks).unwrap();
    path
}

#[test]
fn every_command_joins_the_files_of_a_run() {
    let folder = Folder::new();
    let whole = folder.trace(&plain());
    let [first, second] = plain();
    let parts = [write(&folder, "a.rank1.mpitrace", &[second]), write(&folder, "a.rank0.mpitrace", &[first])];
    let output = folder.path("page.html");
    let commands: [&[&str]; 11] = [
        &["info"],
        &["info", "--json"],
        &["dump"],
        &["dump", "--json"],
        &["categorize", "--json"],
        &["stats", "--json"],
        &["diagnose", "--json"],
        &["clock"],
        &["clock", "--json"],
        &["export", "--format", "csv", "-o", "-"],
        &["report", "--json", "-o", &output],
    ];
    for command in commands {
        let of_one = mpitrace(&[command, &[&whole]].concat());
        let of_both = mpitrace(&[command, &[parts[0].as_str(), &parts[1]]].concat());
        // A report is called after its first file, and the next command names all.
        let stdout = of_both.stdout.replace("a.rank1.mpitrace and 1 more", "a.mpitrace");
        let stdout = stdout.replace(&parts.join(" "), &whole);
        assert!(stdout == of_one.stdout, "{command:?} differs");
        assert_eq!((of_both.code, of_both.stderr), (of_one.code, of_one.stderr), "{command:?}");
    }
}

#[test]
fn the_ranks_that_are_missing_are_named() {
    let folder = Folder::new();
    let ranks = |list: &[u32]| list.iter().map(|&rank| SyntheticRank::new(rank, 9)).collect::<Vec<_>>();
    let [one, other] = [write(&folder, "a", &ranks(&[0, 3])), write(&folder, "b", &ranks(&[5, 8]))];
    let ran = mpitrace(&["info", &one, &other]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("\nranks 1-2, 4, 6-7 of 9 left nothing in this trace\n"), "{}", ran.stdout);
    assert_eq!(mpitrace(&["info", "--json", &one, &other]).json()["missing"], json!([1, 2, 4, 6, 7]));
    let rest = write(&folder, "c", &ranks(&[1, 2, 4, 6, 7]));
    let ran = mpitrace(&["info", "--json", &one, &rest, &other]);
    assert_eq!((ran.code, &ran.json()["missing"]), (0, &json!([])));
}

#[test]
fn the_nodes_of_missing_ranks_are_named_where_the_batch_system_named_its_nodes() {
    let folder = Folder::new();
    let traced = |nodes: Option<&str>| {
        let ranks = [0, 1].map(|number| {
            let mut rank = SyntheticRank::new(number, 3);
            rank.metadata.push(("host".to_owned(), format!("n{}.site", number + 1)));
            rank.metadata.extend(nodes.filter(|_| number == 0).map(|nodes| ("job_nodes".to_owned(), nodes.to_owned())));
            rank
        });
        let ran = mpitrace(&["info", &folder.trace(&ranks)]);
        assert_eq!(ran.code, 1);
        ran.stdout
    };
    let named = traced(Some("n[1-3]"));
    assert!(named.contains("\nnode of the job without a rank in this trace: n3\n"), "{named}");
    for nodes in [None, Some("n[1-2]"), Some("another,name"), Some("n[1-")] {
        let page = traced(nodes);
        assert!(page.contains("\nrank 2 of 3 left nothing in this trace\n"), "{page}");
        assert!(!page.contains("of the job"), "{page}");
    }
}

#[test]
fn files_that_do_not_belong_together_are_refused_in_one_line() {
    let folder = Folder::new();
    let file = |name: &str, rank: u32, size: u32, job: u8| {
        let mut rank = SyntheticRank::new(rank, size);
        rank.header.job = [job; 16];
        write(&folder, name, &[rank])
    };
    let (first, again) = (file("first", 0, 2, 1), file("again", 0, 2, 1));
    let (other_run, other_size) = (file("run", 1, 2, 9), file("size", 2, 3, 1));
    let cases = [
        (&again, format!("{again}: rank 0 is in {first} too")),
        (&first, format!("{first}: rank 0 is in {first} too")),
        (&other_run, format!("{other_run}: belongs to another run than {first}")),
        (&other_size, format!("{other_size}: belongs to another run than {first}")),
    ];
    for command in ["info", "dump", "categorize", "stats", "diagnose", "clock", "report"] {
        for (second, message) in &cases {
            let ran = mpitrace(&[command, &first, second]);
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{command}");
            assert_eq!(ran.stderr, format!("mpitrace: {message}\n"), "{command}");
        }
    }
}

/// Ranks of two hosts whose clocks nothing has synchronised: each wrote a file of its own.
#[test]
fn host_clocks_that_are_hours_apart_are_found() {
    const HOURS: u64 = 2 * 3_600_000_000_000;
    let folder = Folder::new();
    let [first, second] = [0, 1].map(|number: u32| {
        let mut rank = SyntheticRank::new(number, 2);
        rank.header.boot_id = [number as u8 + 1; 16];
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        (1..=5).for_each(|call| rank.call(barrier, 10_000_000 * call, 10_000_000 * call + 1000));
        for anchor in [&mut rank.header.first_anchor, &mut rank.header.last_anchor] {
            anchor.realtime_ns = anchor.raw_ns + 3 * HOURS - u64::from(number) * HOURS;
        }
        write(&folder, &format!("rank{number}"), &[rank])
    });
    let ran = mpitrace(&["clock", &first, &second]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("\n         the worst by 7200 s: "), "{}", ran.stdout);
    let info = mpitrace(&["info", &first, &second]);
    assert!(info.stdout.contains("2 clock domains (rank 0; rank 1), related by the hosts' clocks only"));
}
