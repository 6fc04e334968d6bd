//! The summary of runs whose losses are known.

use mpitrace_format::layout::{InterruptionEntry, PartnerEntry, interruption_flags, interruptions_by, partner};
use mpitrace_format::samples::{Preempted, Samples, Taker};
use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::{Value, json};
use std::path::Path;

use crate::support::{Folder, killed, mpitrace, plain};

/// Three ranks, 200 barriers of 100 us; rank 1 comes 60 us later than the others.
fn imbalanced() -> Vec<SyntheticRank> {
    let rank = |number| {
        let mut rank = SyntheticRank::new(number, 3).stamped();
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
        "3 ranks, 200 ms: 8.0 % in MPI between Init and Finalize (4.0 % to 10.0 % by rank).
92.0 % computing or in other calls, 4.0 % communicating, 4.0 % waiting for others.
4.0 % (24.0 ms, gain 12.0 ms): others wait in MPI_Barrier for rank 1, which computes longer.
Parallel efficiency 92.0 % = load balance 95.8 % x communication efficiency 96.0 %.
The others wait for rank 1 (24.0 ms): give it less work, or look for what slows it down.
Next: mpitrace diagnose {file} --operation 0
"
    );
    assert_eq!(ran.stdout, expected);
    let told = mpitrace(&["summary", "--json", &file]).json();
    assert_eq!(told["losses"][0]["rank"], 1, "{told:#}");
    let number = |key: &str| told[key].as_f64().unwrap();
    assert!((number("waiting_s") - 0.024).abs() < 1e-9 && (number("communication_s") - 0.0240003).abs() < 1e-6);
    assert!((told["losses"][0]["gain_s"].as_f64().unwrap() - 0.012).abs() < 1e-6, "two ranks wait 60 us, 200 times");
    assert!((told["losses"][0]["share"].as_f64().unwrap() - 0.024 / number("running_s")).abs() < 1e-12);
}

/// The ranks' clocks are so far apart, as they were tested, that a wait of 60 us cannot be seen.
#[test]
fn waits_that_the_clocks_do_not_show_are_said_to_be_unknown() {
    let folder = Folder::new();
    let tested_to = |error: u64| {
        let mut ranks = imbalanced();
        ranks.iter_mut().for_each(|rank| rank.header.domain_error = error);
        let file = folder.trace(&ranks);
        (mpitrace(&["summary", &file]).stdout, mpitrace(&["summary", "--json", &file]).json())
    };
    let (page, told) = tested_to(45_000);
    assert_eq!((&told["unknown_waits_below_ns"], &told["waiting_s"]), (&json!(90_000.0), &json!(0.0)));
    let sentence = "\nWaits below 90.0 µs are not known: they count as communication.\n";
    assert!(page.contains(sentence), "{page}");
    let (page, told) = tested_to(45);
    assert_eq!(told["unknown_waits_below_ns"], 90.0);
    assert!(!page.contains("not known"), "{page}");
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
    // The line does not take over what follows.
    assert!(ran.stdout.contains("The others wait for rank 1 (24.0 ms)"), "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("\nNext: mpitrace info {file}\n")), "{}", ran.stdout);
    let told: Value = mpitrace(&["info", "--json", &file]).json();
    assert_eq!(told["mismatches"][0]["calls"][1]["ranks"], serde_json::json!([1, 2]));
}

#[test]
fn what_is_not_known_is_said() {
    let folder = Folder::new();
    // Of a killed run, without interruptions.
    let ran = mpitrace(&["summary", &folder.trace(&killed())]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("\nThis trace is incomplete: "), "{}", ran.stdout);
    let first = ran.stdout.lines().next();
    assert_eq!(first, Some("The job did not end normally: rank 2 called MPI_Abort."), "{}", ran.stdout);
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
    assert!(ran.stdout.contains("the time of 2 ranks is up to the last time stamp"), "{}", ran.stdout);
}

#[test]
fn the_account_is_a_table_by_whatever_is_asked_for() {
    let folder = Folder::new();
    let file = folder.trace(&imbalanced());
    let table = mpitrace(&["summary", &file, "--by", "rank", "--sort", "caused"]);
    assert_eq!((table.code, table.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = table.stdout.lines().collect();
    assert!(lines[1].starts_with("rank 1 ") && lines[1].ends_with(" 24.0"), "{}", table.stdout);
    for by in ["operation", "function", "communicator", "size", "site"] {
        let rows = mpitrace(&["summary", &file, "--by", by, "--json"]).json();
        let rows = rows.as_array().unwrap();
        assert_eq!(rows.len(), 1, "{by}");
        let number = |key: &str| rows[0][key].as_f64().unwrap();
        assert!((number("seconds") - 0.048).abs() < 1e-6 && (number("waiting_s") - 0.024).abs() < 1e-9, "{rows:?}");
    }
    assert_eq!(mpitrace(&["summary", &file, "--sort", "time"]).code, 2, "without --by");
}

#[test]
fn of_many_rows_the_first_are_shown() {
    let rank = |number| {
        let mut rank = SyntheticRank::new(number, 23);
        let barrier = rank.operation("MPI_Barrier", 0, 0);
        (1..=5).for_each(|k| rank.call(barrier, 10_000 * k, 10_000 * k + 1000));
        rank
    };
    let folder = Folder::new();
    let file = folder.trace(&Vec::from_iter((0..23).map(rank)));
    let rows = |options: &[&str]| mpitrace(&[&["summary", &file, "--by", "rank"], options].concat()).stdout;
    let some = rows(&[]);
    assert_eq!(some.lines().last(), Some("... and 3 more rows with 15.0 µs together (--wide shows all)"), "{some}");
    assert_eq!(rows(&["--wide"]).lines().count(), 24);
}

#[test]
fn the_partners_of_a_rank_are_rows() {
    let mut ranks = imbalanced();
    let entry = |partner, ticks, calls| PartnerEntry {
        partner,
        ticks,
        calls,
        messages: 7,
        bytes: 700,
        ..PartnerEntry::default()
    };
    ranks[0].partners = vec![entry(partner::known(0, 2), 30_000_000, 5), entry(partner::SEVERAL, 1_000_000, 1)];
    ranks[2].partners = vec![entry(partner::known(0, 0), 10_000_000, 4)];
    let folder = Folder::new();
    let file = folder.trace(&ranks);
    let table = mpitrace(&["summary", &file, "--by", "partner"]);
    assert_eq!((table.code, table.stderr.as_str()), (0, ""));
    let expected = "\
in                                calls that can wait  time in them ms  of its time  messages sent  bytes
rank 0 with rank 2                                  5             30.0       15.0 %              7    700
rank 2 with rank 0                                  4             10.0        5.0 %              7    700
rank 0 with several or not known                    1             1.00        0.5 %              7    700
";
    assert_eq!(table.stdout, expected);
    let rows = mpitrace(&["summary", &file, "--by", "partner", "--json"]).json();
    assert_eq!([&rows[0]["messages"], &rows[0]["bytes"]], [7, 700]);
}

/// Two ranks on one clock, whose interruptions are known.
fn pair() -> Vec<SyntheticRank> {
    let rank = |number| {
        let mut rank = SyntheticRank::new(number, 2).stamped();
        rank.header.leader = 0;
        rank.last_thread().unwrap().interruptions_by = interruptions_by::EVENT_PAGE;
        rank
    };
    (0..2).map(rank).collect()
}

/// The lines of the summary, and its JSON.
fn summary(ranks: &[SyntheticRank]) -> (Vec<String>, Value) {
    let folder = Folder::new();
    let file = folder.trace(ranks);
    let ran = mpitrace(&["summary", &file]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines = ran.stdout.lines().filter(|line| !line.starts_with("Parallel efficiency"));
    (lines.map(str::to_owned).collect(), mpitrace(&["summary", "--json", &file]).json())
}

#[test]
fn ranks_that_are_late_in_turns_are_not_named_as_the_cause() {
    let mut ranks = pair();
    for (number, rank) in (0u64..).zip(&mut ranks) {
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        for k in 1..=600u64 {
            // Rank 0 is late 330 times, rank 1 270 times, none of them for long.
            let late = u64::from(k * 7 % 20 > 10) == number;
            let enter = 1_000_000 * k + if late { 300_000 } else { 0 };
            rank.call(operation, enter, 1_000_000 * k + 301_000 + k % 2);
        }
    }
    let (lines, told) = summary(&ranks);
    let loss = "15.0 % (180 ms, gain 90.0 ms): ranks wait in turns in MPI_Allreduce: one computes longer.";
    assert_eq!(lines[2], loss);
    let verdict = "The ranks wait for each other in turns (180 ms, 55.0 % for rank 0): balance the work of each step.";
    assert_eq!(lines[3], verdict);
    assert_eq!((&told["losses"][0]["rank"], &told["losses"][1]["rank"]), (&0.into(), &1.into()), "{told:#}");
}

/// Off the processor before the call that was recorded last.
fn off_before(rank: &mut SyntheticRank, off_ns: u64, voluntary: u32) {
    let flags = interruption_flags::BETWEEN | interruption_flags::TIMED | interruption_flags::REASON;
    rank.interrupt(InterruptionEntry { off_ns, flags, switches: 1, voluntary, ..Default::default() });
}

/// Rank 0 sleeps before every other call, rank 1 computes longer before the others.
#[test]
fn of_two_ranks_that_are_late_for_different_reasons_both_are_said() {
    let mut ranks = pair();
    for (number, rank) in (0u64..).zip(&mut ranks) {
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        for k in 1..=200u64 {
            let late = k % 2 == number;
            rank.call(operation, 1_000_000 * k + if late { 300_000 } else { 0 }, 1_000_000 * k + 301_000 + k % 2);
            if late && number == 0 {
                off_before(rank, 300_000, 1);
            }
        }
    }
    let (lines, _) = summary(&ranks);
    let has = |what: &str| lines.iter().any(|line| line.contains(what));
    assert!(has("for rank 0, which slept.") && has("for rank 1, which computes longer."), "{lines:#?}");
    let verdict = lines[lines.len() - 3..lines.len() - 1].join("");
    let expected = "The ranks wait for each other in turns (60.0 ms), 30.0 ms for rank 0, which slept, 30.0 ms for rank 1, \
                    which  computes longer: find the sleep, lock or file; balance the work of each step.";
    assert_eq!(verdict.replace("  ", " "), expected.replace("  ", " "), "{lines:#?}");
}

/// Each has half of a processor, and rank 1 has 1.5 times the work of rank 0.
#[test]
fn more_work_of_one_rank_is_no_preemption_where_all_are_preempted_alike() {
    let mut ranks = pair();
    for (number, rank) in (0u64..).zip(&mut ranks) {
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        for k in 1..=200u64 {
            let begin = 601_000 * k;
            let off = 200_000 + 100_000 * number;
            rank.call(operation, begin + 2 * off, begin + 601_000 + k % 2);
            off_before(rank, off, 0);
        }
    }
    let (lines, told) = summary(&ranks);
    assert!(lines.iter().any(|line| line.contains("for rank 1, which computes longer.")), "{lines:#?}");
    let losses = told["losses"].as_array().unwrap();
    let late: Vec<&Value> = losses.iter().filter(|loss| loss["kind"] == "late-rank").collect();
    assert!(
        late.iter().any(|loss| loss["because"] == "computing" && loss["seconds"].as_f64() > Some(0.035)),
        "{told:#}"
    );
    let page = Vec::from_iter(lines.join(" ").split_whitespace()).join(" ");
    assert!(page.contains("; others wait 40.0 ms for rank 1, which computes longer."), "{page}");
    // Without it a step would take the 300 us that rank 1 computes.
    assert!(page.contains("(100 ms, gain 60.0 ms): ranks were preempted outside of MPI calls."), "{page}");
}

/// Nothing is known of interruptions, nor of which ranks wait for which in a neighbourhood's collective.
#[test]
fn what_is_not_known_of_an_operation_is_no_0() {
    let mut ranks = pair();
    for rank in &mut ranks {
        let operation = rank.operation("MPI_Neighbor_alltoall", 0, 8);
        (1..=10u64).for_each(|k| rank.call(operation, 1_000_000 * k, 1_000_000 * k + 300_000));
        rank.last_thread().unwrap().interruptions_by = 0;
    }
    let folder = Folder::new();
    let table = mpitrace(&["summary", &folder.trace(&ranks), "--by", "operation", "--wide"]).stdout;
    let last = table.lines().last().unwrap();
    assert_eq!(last.split_whitespace().filter(|&word| word == "0").count(), 1, "in the tracer alone: {table}");
    // Three ranks wait 60 us for the last one, or not at all.
    let folder = Folder::new();
    let file = folder.trace(&imbalanced());
    let rows = mpitrace(&["summary", &file, "--by", "operation", "--json"]).json();
    assert!((rows[0]["waiting_per_call_s"].as_f64().unwrap() - 40e-6).abs() < 1e-12, "{rows:#}");
    let table = mpitrace(&["summary", &file, "--by", "operation", "--wide"]).stdout;
    assert!(table.contains("waiting per call") && table.contains("  40.0  "), "{table}");
}

/// Off the processor for 4 ms of the 8 ms between two calls of which the region is 6 ms.
#[test]
fn a_region_has_the_time_off_the_processor_in_it() {
    let mut ranks = pair();
    for rank in &mut ranks {
        let region = rank.region("solve");
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        for k in 1..=50u64 {
            rank.call(region, 10_000_000 * k + 3_000_000, 10_000_000 * k + 9_000_000);
            rank.call(operation, 10_000_000 * k + 10_000_000, 10_000_000 * k + 12_000_000);
            off_before(rank, 4_000_000, 0);
        }
    }
    let folder = Folder::new();
    let rows = mpitrace(&["summary", &folder.trace(&ranks), "--by", "region", "--json"]).json();
    // Where no call is before, as if right before the call: 3 ms of the region.
    let expected = 2.0 * (49.0 * 0.004 * 6.0 / 8.0 + 0.003);
    assert!((rows[0]["off_processor_s"].as_f64().unwrap() - expected).abs() < 1e-6, "{expected} {rows:#}");
}

/// The region lies around two calls. Every tenth time rank 0 is off its processor in the second one, for all of the
/// time by which the region is longer.
#[test]
fn a_slow_region_has_the_interruptions_of_the_calls_in_it_as_a_cause() {
    let mut ranks = pair();
    for (number, rank) in (0..).zip(&mut ranks) {
        let region = rank.region("solve");
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        for k in 1..=200u64 {
            let begin = 10_000_000 * k;
            let longer = if k % 10 == 5 { 3_000_000 } else { 0 };
            rank.call(region, begin, begin + 1_000_000 + longer + k % 7);
            rank.call(operation, begin + 100_000, begin + 200_000);
            rank.call(operation, begin + 300_000, begin + 800_000 + longer);
            if number == 0 && longer > 0 {
                let flags = interruption_flags::TIMED | interruption_flags::REASON;
                rank.interrupt(InterruptionEntry { off_ns: longer, flags, switches: 1, ..Default::default() });
            }
        }
    }
    let folder = Folder::new();
    let rows = mpitrace(&["diagnose", &folder.trace(&ranks), "--json"]).json();
    let region = rows.as_array().unwrap().iter().find(|row| row["function"] == "solve").unwrap();
    let cause = &region["causes"][0];
    assert_eq!((&cause["kind"], &cause["rank"]), (&"interrupted".into(), &0.into()), "{region:#}");
    assert!(cause["share"].as_f64() > Some(0.4), "{cause:#}");
}

#[test]
fn communicators_of_one_name_are_shown_with_their_ranks() {
    let rank = |number: u32| {
        let mut rank = SyntheticRank::new(number, 4).stamped();
        let rows = rank.communicator(9 + u64::from(number / 2), 2, number % 2, Some("rows"));
        let operation = rank.operation("MPI_Allreduce", rows, 8);
        (1..=20u64).for_each(|k| rank.call(operation, 1_000_000 * k, 1_000_000 * k + 400_000));
        rank
    };
    let folder = Folder::new();
    let file = folder.trace(&Vec::from_iter((0..4).map(rank)));
    for command in [&["summary", &file, "--by", "communicator"][..], &["info", &file], &["stats", &file]] {
        let page = mpitrace(command).stdout;
        assert!(page.contains("rows (ranks 0-1)") && page.contains("rows (ranks 2-3)"), "{command:?}: {page}");
    }
    let names = mpitrace(&["info", &file, "--json"]).json()["operations"].clone();
    assert!(names.as_array().unwrap().iter().all(|operation| operation["communicator"] == "rows"), "{names:#}");
}

/// Rank 1 sleeps for 300 us before each call, and is preempted for 100 us.
#[test]
fn a_rank_that_sleeps_is_not_sent_to_look_for_other_processes() {
    let mut ranks = pair();
    for (number, rank) in (0u64..).zip(&mut ranks) {
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        for k in 1..=200u64 {
            rank.call(operation, 1_000_000 * k + 400_000 * number, 1_000_000 * k + 401_000);
            if number == 1 {
                let flags = interruption_flags::BETWEEN | interruption_flags::TIMED | interruption_flags::REASON;
                rank.interrupt(InterruptionEntry {
                    off_ns: 400_000,
                    flags,
                    switches: 4,
                    voluntary: 3,
                    ..Default::default()
                });
            }
        }
    }
    let (lines, told) = summary(&ranks);
    let slept = "others wait in MPI_Allreduce (operation 0) for rank 1, which slept.";
    assert!(lines[2].contains(slept) && lines[2].contains("(60.0 ms, gain 60.0 ms)"), "{lines:#?}");
    assert!(lines[3].contains("for rank 1, which was preempted."), "{lines:#?}");
    assert_eq!(
        lines[4],
        "The others wait for rank 1 (80.0 ms), 60.0 ms of it since it slept: find the sleep, lock or file."
    );
    // Its own time counts, too, outside of calls.
    let loss =
        |at: usize| (told["losses"][at]["kind"].as_str().unwrap(), told["losses"][at]["because"].as_str().unwrap());
    let expected =
        [("late-rank", "asleep"), ("interrupted", "asleep"), ("late-rank", "preempted"), ("interrupted", "preempted")];
    assert_eq!([0, 1, 2, 3].map(loss), expected);
    let folder = Folder::new();
    let cause = &mpitrace(&["diagnose", &folder.trace(&ranks), "--json"]).json()[0]["causes"][0];
    assert_eq!((&cause["kind"], &cause["because"]), (&"interrupted".into(), &"asleep".into()), "{cause:#}");
}

/// The first call takes 400 us longer; 20 later ones take 1 ms longer, without a cause.
#[test]
fn a_cause_of_little_is_not_stated_as_that_of_the_largest_loss() {
    let series = |longer: u64| {
        let mut ranks = pair();
        for rank in &mut ranks {
            let operation = rank.operation("MPI_Allreduce", 0, 8);
            for k in 0..600u64 {
                let more = match k {
                    0 => 400_000,
                    _ if k % 30 == 7 => longer,
                    _ => 0,
                };
                rank.call(operation, 2_000_000 * (k + 1), 2_000_000 * (k + 1) + 1000 + more + k * 7 % 20);
            }
        }
        summary(&ranks).0
    };
    let lines = series(1_000_000);
    let verdict = "Slow repetitions lose 40.0 ms: no cause is recorded for most of it; counters may show one.";
    assert_eq!(lines[lines.len() - 2], verdict);
    // Where it is most of the loss, the first call is the cause of the first repetitions.
    let mut ranks = pair();
    for rank in &mut ranks {
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        (0..60u64).for_each(|k| {
            let more = if k == 0 { 4_000_000 } else { 0 };
            rank.call(operation, 5_000_000 * (k + 1), 5_000_000 * (k + 1) + 1000 + more + k * 7 % 20);
        });
    }
    let lines = summary(&ranks).0;
    let first = "The first repetitions lose 8.00 ms, 8.00 ms in the first call: call it once before timing it.";
    assert_eq!(lines[lines.len() - 2], first);
}

/// Rank 2 waits for nearly all of the run, the others for next to nothing; then 1000 calls more, which are not kept.
#[test]
fn the_first_line_is_of_the_time_of_all_ranks_and_of_all_calls() {
    let ranks = |not_kept: u32| {
        let rank = |number| {
            let mut rank = SyntheticRank::new(number, 3);
            rank.header.leader = 0;
            let barrier = rank.operation("MPI_Barrier", 0, 0);
            (1..=100u64).for_each(|k| {
                let enter = 1_000_000 * k - if number == 2 { 899_000 } else { 0 };
                rank.call(barrier, enter, 1_000_000 * k + 1200);
            });
            (0..not_kept).for_each(|_| rank.timed_call(barrier, 50_000));
            let last = &mut rank.header.last_anchor;
            (last.tick, last.raw_ns) = (200_000_000, 200_000_000);
            rank
        };
        (0..3).map(rank).collect::<Vec<SyntheticRank>>()
    };
    let (lines, told) = summary(&ranks(0));
    let first = "3 ranks, 200 ms: 15.0 % in collective calls between Init and Finalize (less than 0.1 % to 45.0 % by";
    assert_eq!((&*lines[0], lines[1].trim()), (first, "rank)."));
    assert!((told["collectives_share"]["all"].as_f64().unwrap() - 90.26 / 600.0).abs() < 1e-6, "{told:#}");
    let (lines, _) = summary(&ranks(1000));
    let first = "3 ranks, 200 ms: 40.0 % in collective calls between Init and Finalize (25.1 % to 70.0 % by rank).";
    assert_eq!(lines[0], first);
    assert_eq!(lines[2], "3000 of 3300 calls are not kept: losses are of the others.");
    // Of one rank there is no loss in the calls that are kept, and nothing is known of the others.
    let mut alone = SyntheticRank::new(0, 1);
    let barrier = alone.operation("MPI_Barrier", 0, 0);
    (1..=100u64).for_each(|k| alone.call(barrier, 1_000_000 * k, 1_000_000 * k + 1000));
    (0..1000).for_each(|_| alone.timed_call(barrier, 50_000));
    let (lines, _) = summary(&[alone]);
    assert!(lines[0].contains(": 50.1 % in "), "{lines:#?}");
    let verdict = "No loss of 1.0 % of the job or more was found in the calls that are kept.";
    assert_eq!(lines[3], verdict);
}

/// Each rank computes within a region for 8 ms of each step of 10 ms, and reduces within another one.
#[test]
fn regions_of_the_program_are_no_communication() {
    let mut ranks = pair();
    for rank in &mut ranks {
        let [step, solve] = ["step", "solve"].map(|name| rank.region(name));
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        for k in 1..=50u64 {
            let begin = 10_000_000 * k;
            rank.call(step, begin - 100, begin + 9_000_000);
            rank.call(solve, begin, begin + 8_000_000);
            rank.call(operation, begin + 8_100_000, begin + 8_200_000);
        }
    }
    let (lines, told) = summary(&ranks);
    assert!(lines[0].starts_with("2 ranks, 509 ms: 1.0 % in MPI between"), "{lines:#?}");
    assert_eq!(lines[2], "There is little to gain in MPI.");
    assert_eq!(told["losses"], serde_json::json!([]));
    let folder = Folder::new();
    let file = folder.trace(&ranks);
    let rows = mpitrace(&["summary", &file, "--by", "function", "--json"]).json();
    assert_eq!(rows.as_array().map(Vec::len), Some(1), "{rows:#}");
    let operations = mpitrace(&["info", &file, "--json"]).json();
    assert_eq!(operations["operations"].as_array().map(Vec::len), Some(3), "they stay operations");
}

/// Of 600 ms of each rank 200 are in MPI_Init, 100 in MPI_Finalize, and 30 of the rest in calls.
#[test]
fn shares_are_of_the_time_between_init_and_finalize() {
    let mut ranks = pair();
    for rank in &mut ranks {
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        (0..30u64).for_each(|k| rank.call(operation, (210 + 9 * k) * 1_000_000, (211 + 9 * k) * 1_000_000));
        (rank.times.rank.init, rank.times.rank.init_library) = (200_000_000, 200_000_000);
        rank.times.rank.finalize_enter = 500_000_000;
        (rank.times.finalize.library, rank.times.finalize.whole) = (100_000_000, 100_000_000);
        let last = &mut rank.header.last_anchor;
        (last.tick, last.raw_ns) = (600_000_000, 600_000_000);
    }
    let (lines, told) = summary(&ranks);
    let number = |value: &Value| value.as_f64().unwrap();
    assert!((number(&told["rank_seconds"]) - 1.2).abs() < 1e-6, "{told:#}");
    assert!((number(&told["running_s"]) - 0.6).abs() < 1e-6, "{told:#}");
    assert!((number(&told["mpi_share"]["all"]) - 0.1).abs() < 1e-6, "{told:#}");
    assert_eq!(lines[0], "2 ranks, 600 ms: 10.0 % in MPI between Init and Finalize.");
    assert!(lines[1].ends_with("; MPI_Init 200 ms, MPI_Finalize 100 ms."), "{lines:#?}");
}

/// `run` has kept, beside the trace, which process took the processor of a rank.
#[test]
fn a_folder_and_the_name_of_several_files_stand_for_what_lies_beside_them_too() {
    let folder = Folder::new();
    let file = folder.trace(&imbalanced());
    let job = mpitrace_format::file::job(Path::new(&file)).unwrap();
    let taker = Taker { rank: None, name: "backup".to_owned(), user: "root".to_owned(), ns: 800_000_000 };
    let preempted = vec![Preempted { rank: 1, ns: 900_000_000, takers: vec![taker] }];
    let samples = Samples { job, preempted, ..Samples::default() };
    std::fs::write(Samples::beside(Path::new(&file)), samples.encode()).unwrap();
    let of_file = mpitrace(&["summary", &file, "--json"]).json();
    assert_eq!(of_file["processes"][0]["processes"][0]["name"], "backup", "{of_file:#}");
    let parent = Path::new(&file).parent().unwrap().to_str().unwrap();
    let of_folder = mpitrace(&["summary", parent, "--json"]).json();
    assert_eq!(of_folder["processes"], of_file["processes"]);
    let said = mpitrace(&["summary", parent]).stdout;
    assert!(said.contains("Rank 1 was preempted for 900 ms, mostly by `backup` (user root)."), "{said}");
}

/// Of 1 s of each rank 950 ms are in MPI_Init and MPI_Finalize; between them nearly all is communication, and the first
/// repetitions lose 6 % of it, which is .3 % of the job.
#[test]
fn a_job_that_is_mostly_init_is_told_so() {
    let mut ranks = pair();
    for rank in &mut ranks {
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        let begin = |k: u64| 900_000_000 + 1_000_000 * k;
        (0..49u64)
            .for_each(|k| rank.call(operation, begin(k), begin(k) + if k < 4 { 950_000 } else { 200_000 + k % 2 }));
        (rank.times.rank.init, rank.times.rank.init_library) = (900_000_000, 900_000_000);
        rank.times.rank.finalize_enter = 950_000_000;
        (rank.times.finalize.library, rank.times.finalize.whole) = (50_000_000, 50_000_000);
        let last = &mut rank.header.last_anchor;
        (last.tick, last.raw_ns) = (1_000_000_000, 1_000_000_000);
    }
    let (lines, told) = summary(&ranks);
    let largest = told["losses"][0]["share"].as_f64().unwrap();
    assert!(largest > 0.01, "of the time between Init and Finalize: {told:#}");
    let verdict = "MPI_Init and MPI_Finalize take 95.0 % of the job: there is little to gain between them.";
    assert!(lines.iter().any(|line| line == verdict), "{lines:#?}");
}
