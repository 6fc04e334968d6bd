//! The summary of runs whose losses are known.

use mpitrace::synthetic::SyntheticRank;
use mpitrace_format::layout::interruptions_by;
use serde_json::Value;

use crate::support::{Folder, killed, mpitrace, plain};

/// Three ranks, 200 barriers of 100 us; rank 1 comes 60 us later than the others.
fn imbalanced() -> Vec<SyntheticRank> {
    let rank = |number| {
        let mut rank = SyntheticRank::new(number, 3);
        rank.header.leader = 0;
        rank.last_thread().unwrap().interruptions_by = interruptions_by::EVENT_PAGE;
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        for k in 1..=200u64 {
            let enter = 1_000_000 * k + if number == 1 { 60_000 } else { 0 };
            // One nanosecond of noise.
            rank.call(barrier, enter, 1_000_000 * k + 100_000 + k % 2);
        }
        rank
    };
    (0..3).map(rank).collect()
}

#[test]
fn the_summary_names_the_late_rank_and_what_to_do() {
    let folder = Folder::new();
    let file = folder.trace(&imbalanced());
    let ran = mpitrace(&["summary", &file]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let expected = format!(
        "3 ranks, 200.1 ms: 10.0 % of the ranks' time is in collective calls (4.0 % to 10.0 % on single ranks).
Of that: 50.0 % waiting for other ranks, 0 % off the processor, 0 % delayed by the tracer, 50.0 % communication.
4.0 % (24.00 ms): others wait for rank 1, which computes or is in other MPI calls for longer; operation 0, MPI_Barrier on MPI_COMM_WORLD, 200 repetitions.
The others wait for rank 1: give it less work, or look for what slows it down.
Next: mpitrace diagnose {file} --operation 0
"
    );
    assert_eq!(ran.stdout, expected);
    let told = mpitrace(&["summary", "--json", &file]).json();
    assert_eq!(told["losses"][0]["rank"], 1, "{told:#}");
    let number = |key: &str| told[key].as_f64().unwrap();
    assert!((number("waiting_s") - 0.024).abs() < 1e-9 && (number("communication_s") - 0.0240003).abs() < 1e-6);
    assert!((told["losses"][0]["share"].as_f64().unwrap() - 0.024 / number("rank_seconds")).abs() < 1e-12);
}

#[test]
fn mismatches_come_first_and_give_exit_code_1() {
    let folder = Folder::new();
    let mut ranks = imbalanced();
    for (number, rank) in ranks.iter_mut().enumerate() {
        let function = ["MPI_Bcast", "MPI_Allreduce", "MPI_Allreduce"][number];
        let operation = rank.operation(function, 0, 8);
        rank.call(operation, 300_000_000, 300_001_000);
    }
    let file = folder.trace(&ranks);
    for command in ["summary", "info"] {
        let ran = mpitrace(&[command, &file]);
        assert_eq!(ran.code, 1);
        let expected = "MISMATCH (function) at call 200 of MPI_COMM_WORLD: rank 0 MPI_Bcast of 8 bytes, ranks 1-2 \
                        MPI_Allreduce of 8 bytes";
        assert_eq!(ran.stdout.lines().next(), Some(expected));
    }
    let ran = mpitrace(&["summary", &file]);
    assert!(ran.stdout.lines().count() <= 7, "{}", ran.stdout);
    assert!(ran.stdout.contains("Calls are mismatched"), "{}", ran.stdout);
    let told: Value = mpitrace(&["info", "--json", &file]).json();
    assert_eq!(told["mismatches"][0]["calls"][1]["ranks"], serde_json::json!([1, 2]));
}

#[test]
fn what_is_not_known_is_said() {
    let folder = Folder::new();
    // Of a killed run, without interruptions.
    let ran = mpitrace(&["summary", &folder.trace(&killed())]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("This trace is incomplete."), "{}", ran.stdout);
    let ran = mpitrace(&["summary", &folder.trace(&plain())]);
    assert!(ran.stdout.contains("time off the processor not known"), "{}", ran.stdout);
    assert!(ran.stdout.lines().count() <= 7, "{}", ran.stdout);
}

/// A rank that was killed has no time at which it ended, and its last call none at which it returned.
#[test]
fn a_rank_without_an_end_spends_no_more_than_all_of_its_time_in_calls() {
    let rank = |number| {
        let mut rank = SyntheticRank::new(number, 2);
        rank.header.leader = 0;
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        (1..=100u64).for_each(|k| rank.call(barrier, 1_000_000 * k, 1_000_000 * k + 900_000));
        if number == 1 {
            rank.call(barrier, 101_000_000, 0);
        }
        rank.header.state = mpitrace_format::layout::state::RUNNING;
        // As at the start of the run.
        rank.header.last_anchor = rank.header.first_anchor;
        rank
    };
    let folder = Folder::new();
    let file = folder.trace(&[rank(0), rank(1)]);
    let told = mpitrace(&["summary", &file, "--json"]).json();
    let share = |key: &str| told["collectives_share"][key].as_f64().unwrap();
    assert!(share("max") <= 1.0 && share("min") > 0.8, "{told:#}");
    assert!(told["collectives_s"].as_f64().unwrap() <= told["rank_seconds"].as_f64().unwrap(), "{told:#}");
    assert_eq!(told["unknown_ends"], 2);
    let ran = mpitrace(&["summary", &file]);
    assert!(ran.stdout.contains("When 2 ranks ended is not known"), "{}", ran.stdout);
}

#[test]
fn the_account_is_a_table_by_whatever_is_asked_for() {
    let folder = Folder::new();
    let file = folder.trace(&imbalanced());
    let table = mpitrace(&["summary", &file, "--by", "rank", "--sort", "caused", "--top", "1"]);
    assert_eq!((table.code, table.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = table.stdout.lines().collect();
    assert!(lines[1].starts_with("rank 1 ") && lines[1].ends_with("24.00 ms"), "{}", table.stdout);
    assert_eq!(lines[2], "... and 2 more rows with 40.00 ms together (--top 0 shows all)");
    for by in ["operation", "function", "communicator", "size", "site"] {
        let rows = mpitrace(&["summary", &file, "--by", by, "--json"]).json();
        let rows = rows.as_array().unwrap();
        assert_eq!(rows.len(), 1, "{by}");
        let number = |key: &str| rows[0][key].as_f64().unwrap();
        assert!((number("seconds") - 0.048).abs() < 1e-6 && (number("waiting_s") - 0.024).abs() < 1e-9, "{rows:?}");
    }
    assert_eq!(mpitrace(&["summary", &file, "--top", "3"]).code, 2, "without --by");
}
