//! The cost of the companion's commands, counted and not timed: on traces that are made here and are always the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use mpitrace_testing::Random;
use mpitrace_testing::synthetic::{self, SyntheticRank};

use crate::support::{Case, On, Test, binaries, root};

pub const TESTS: &[Test] =
    &[Test::new("is_no_higher_than_is_stored", stored).on(On::Any).second_tier().needs("valgrind")];

/// Where the counts are, and with which compiler they were made.
const TABLE: &str = "docs/developers/measurements/commands.txt";
/// A count may be so much more than the stored one.
const MORE: f64 = 1.03;
/// The commands, each with its options; a name that ends in `.html` is a file of the test.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("info", &["info"]),
    ("categorize", &["categorize"]),
    ("summary", &["summary"]),
    ("stats", &["stats"]),
    ("diagnose", &["diagnose"]),
    ("report", &["report"]),
    ("page", &["report", "-o", "page.html"]),
];

/// Two ranks that make so many calls of each of so many operations, one operation after the other in a loop: with
/// noise, rare outliers and a warm-up.
fn trace(path: &Path, operations: u64, calls: u64) {
    let ranks = [0, 1].map(|number| {
        let mut random = Random::new(1 + u64::from(number));
        let mut rank = SyntheticRank::new(number, 2).stamped();
        let all: Vec<u32> = (1..=operations).map(|bytes| rank.operation("MPI_Allreduce", 0, 8 * bytes)).collect();
        for call in 0..calls {
            for (&operation, place) in all.iter().zip(0..) {
                // Both ranks come to a call within 1000 ns.
                let enter = 1_000_000 + 10_000 * (call * operations + place) + (1000.0 * random.uniform()) as u64;
                let warm_up = if call < 20 { 2000 } else { 0 };
                let outlier = if random.uniform() < 0.01 { 4000 } else { 0 };
                let took = 1500 + warm_up + outlier + (200.0 * random.uniform()) as u64;
                rank.call(operation, enter, enter + took);
            }
        }
        let end = rank.header.last_anchor.tick + 10_000;
        (rank.times.rank.finalize_enter, rank.header.last_anchor.tick) = (end, end + 10_000);
        rank
    });
    synthetic::write(path, &ranks).expect("a trace");
}

/// Instructions of a command on one processor, in thousands.
fn count(case: &Case, words: &[&str], trace: &Path) -> u64 {
    let counted = case.folder.join("callgrind");
    let path = |word: &&str| match word.ends_with(".html") {
        true => case.folder.join(word),
        false => PathBuf::from(word),
    };
    let finished = Command::new("taskset")
        .args(["-c", "0", "valgrind", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", counted.display()))
        .arg(binaries::companion())
        .args(words.iter().map(path))
        .arg(trace)
        .output()
        .expect("taskset and valgrind");
    let stderr = String::from_utf8_lossy(&finished.stderr);
    assert!(matches!(finished.status.code(), Some(0 | 1)), "{words:?}: {stderr}");
    let refs = stderr.lines().find_map(|line| line.split_once("Collected :")).map(|(_, number)| number.trim());
    refs.and_then(|number| number.parse::<u64>().ok()).unwrap_or_else(|| panic!("{words:?}: {stderr}")) / 1000
}

/// With `WRITE_COUNTS=1` in the environment it prints the lines of the table, and compares nothing.
fn stored(case: &Case) {
    let traces = [("one operation", 1, 20_000), ("1000 operations", 1000, 10)].map(|(name, operations, calls)| {
        let path = case.folder.join(format!("{operations}.mpitrace"));
        trace(&path, operations, calls);
        (name, path)
    });
    let compiler = Command::new("rustc").arg("--version").output().expect("the compiler");
    let versions = format!("{}; {}", String::from_utf8_lossy(&compiler.stdout).trim(), std::env::consts::ARCH);
    let table = std::fs::read_to_string(root().join(TABLE)).expect("the table");
    let rows = table.split_once(&format!("{versions}\n")).map(|(_, rows)| rows);
    let (mut made, mut higher) = (format!("{versions}\n"), Vec::new());
    for (name, path) in &traces {
        for (command, words) in COMMANDS {
            let (count, key) = (count(case, words, path), format!("{command}, {name}:"));
            made.push_str(&format!("{key:32} {count:9}\n"));
            let stored = rows.and_then(|rows| rows.lines().find_map(|row| row.strip_prefix(&key)));
            let stored = stored.and_then(|stored| stored.trim().parse::<f64>().ok());
            if stored.is_none_or(|stored| count as f64 > MORE * stored) {
                higher.push(format!("{key} {count} thousand instructions, stored are {stored:?}"));
            }
        }
    }
    println!("{made}");
    if std::env::var_os("WRITE_COUNTS").is_some() {
        return;
    }
    if rows.is_none() {
        println!("not compared: {TABLE} has no counts of {versions}");
        return;
    }
    assert!(higher.is_empty(), "{}\nWhere that has to be, {TABLE} is to have\n{made}", higher.join("\n"));
}
