//! `mpitrace stats`: its numbers, what it counts beside them, and what it says where there are none.

use crate::support::{Folder, killed, mpitrace, plain};
use mpitrace_testing::Random;
use mpitrace_testing::synthetic::{SyntheticRank, SyntheticRequest};
use serde_json::{Value, json};

/// Two ranks and an operation whose calls begin every 100 µs; `took` is how long a repetition takes on a rank, ns.
fn trace(repetitions: u64, mut took: impl FnMut(u32, u64) -> u64) -> [SyntheticRank; 2] {
    [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        rank.describe(allreduce, None, "MPI_DOUBLE", Some("MPI_SUM"));
        for i in 0..repetitions {
            // Rank 1 comes 50 ns later.
            let enter = 1_000_000 + 100_000 * i + 50 * u64::from(number);
            rank.call(allreduce, enter, enter + took(number, i));
        }
        rank
    })
}

fn stats(folder: &Folder, ranks: &[SyntheticRank], more: &[&str]) -> Value {
    let ran = mpitrace(&[&["stats", "--json", &folder.trace(ranks)], more].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    ran.json()[0].clone()
}

#[test]
fn the_numbers_are_those_of_the_run_times() {
    let folder = Folder::new();
    // 1001, 1002 ... 1101 ns on rank 0, 10 ns more on rank 1.
    let found =
        stats(&folder, &trace(101, |rank, i| 1000 + (i * 37) % 101 + 1 + 10 * u64::from(rank)), &["--per-rank"]);
    assert_eq!((&found["repetitions"], &found["used"], &found["incomplete"]), (&json!(101), &json!(101), &json!(0)));
    for (key, value) in [
        ("min_ns", 1011.0),
        ("max_ns", 1111.0),
        ("median_ns", 1061.0),
        ("mean_ns", 1061.0),
        ("mad_ns", 25.0),
        ("p95_ns", 1106.0),
        ("p99_ns", 1110.0),
    ] {
        assert_eq!(found[key], value, "{key}");
    }
    // Ranks 41 and 61 of 101 values, were they independent; these alternate, which makes it narrower.
    let end = |name: &str| found["median_interval"][name].as_f64().unwrap();
    assert!((1051.0..1059.0).contains(&end("lower_ns")) && (1063.0..1071.0).contains(&end("upper_ns")), "{found}");
    assert_eq!(end("coverage"), 0.95);
    let completion = &found["completion"];
    // T_glob = A + T_last: rank 1 comes 50 ns later and stays 10 ns longer.
    assert_eq!(
        (&completion["local_ns"], &completion["global_ns"], &completion["last_ns"]),
        (&json!(1061.0), &json!(1111.0), &json!(1061.0))
    );
    assert_eq!((&completion["arrival_spread_ns"], &completion["exit_spread_ns"]), (&json!(50.0), &json!(60.0)));
    assert_eq!(completion["last_in"], json!({"rank": 1, "share": 1.0}));
    assert_eq!(completion["ordering"], json!({"checked": 101, "split": 0, "violated": 0}));
    assert_eq!(found["per_rank"][0]["median_ns"], 1051.0);
    assert_eq!((&found["per_rank"][0]["last_in"], &found["per_rank"][1]["last_in"]), (&json!(0), &json!(101)));
    let exits = [0, 1].map(|rank| found["per_rank"][rank]["exit_after_first_ns"].as_f64().unwrap());
    assert_eq!(exits, [0.0, 60.0]);
    let ends: [f64; 2] = serde_json::from_value(found["per_rank"][1]["exit_after_first_interval_ns"].clone()).unwrap();
    assert!(ends.iter().all(|end| (end - 60.0).abs() < 1e-9), "{ends:?}");
    assert_eq!(found["non_blocking"], json!(null));
}

#[test]
fn what_is_left_out_is_counted_beside_the_numbers() {
    let folder = Folder::new();
    let all = stats(&folder, &plain(), &["--operation", "0"]);
    assert_eq!(all["counts"], json!({"first": 1, "warmup": 19, "outlier": 1, "good": 39}));
    assert_eq!((&all["used"], &all["max_ns"]), (&json!(60), &json!(50_000.0)));
    let good = stats(&folder, &plain(), &["--operation", "0", "--category", "good"]);
    assert_eq!((&good["used"], &good["max_ns"]), (&json!(39), &json!(2000.0)));
    assert_eq!(good["left_out"], json!({"category": 21, "not_finite": 0}));
    let page = mpitrace(&["stats", "--operation", "0", "--category", "good", &folder.trace(&plain())]);
    assert!(page.stdout.contains("left out     21 of other categories, 0 not finite, 0 incomplete"), "{}", page.stdout);
}

#[test]
fn a_period_two_modes_and_the_first_of_them_are_found() {
    let folder = Folder::new();
    let mut random = Random::new(1);
    // Every 40th repetition takes ten times as long; every third is of another mode.
    let ranks = trace(3000, |_, i| {
        let base = if i % 3 == 0 { 1300.0 } else { 1000.0 };
        (base * (1.0 + 0.02 * random.normal())) as u64 + if i % 40 == 20 { 9000 } else { 0 }
    });
    let found = stats(&folder, &ranks, &[]);
    let period = found["outlier_period"]["period_repetitions"].as_f64().unwrap();
    assert!((period / 40.0 - 1.0).abs() < 0.01, "{period}");
    let modes = found["modes"].as_array().unwrap();
    assert!(modes.len() >= 2, "{modes:?}");
    assert!((modes[0]["share"].as_f64().unwrap() - 2.0 / 3.0).abs() < 0.05, "{modes:?}");
    // Without the outliers, which are most of the variance.
    let good = stats(&folder, &ranks, &["--category", "good"]);
    assert!(good["ljung_box"]["p"].as_f64().unwrap() < 1e-6);
}

#[test]
fn the_step_of_the_clock_is_said() {
    let folder = Folder::new();
    let found = stats(&folder, &trace(500, |_, i| 200 + 10 * ((i * 7) % 5)), &[]);
    assert_eq!(found["step_ns"], 10.0);
    assert!(found["notes"].to_string().contains("steps of 10.0 ns"), "{}", found["notes"]);
}

/// Three run times of 60 are a thousand times as long: Student's interval of the mean would reach below no time at all.
#[test]
fn no_interval_of_a_mean_reaches_below_0() {
    let folder = Folder::new();
    let run_time = |i: usize| if [7, 23, 31].contains(&i) { 100_000 } else { 100 + i % 3 };
    let rows: String = (0..60).map(|i| format!("{i},0,runtime,{}\n", run_time(i))).collect();
    let file = folder.file("huge.csv", rows.as_bytes());
    let of = |options: &[&str]| mpitrace(&[&["stats", "--from", "csv", &file], options].concat());
    let all = of(&["--json"]).json();
    let (mean, interval) = (all[0]["mean_ns"].as_f64().unwrap(), &all[0]["mean_interval"]);
    let [lower, upper] = ["lower_ns", "upper_ns"].map(|end| interval[end].as_f64().unwrap());
    assert!(0.0 < lower && lower < mean && mean < upper, "{interval}");
    assert!((lower * upper / (mean * mean) - 1.0).abs() < 1e-9, "as far below as above, as a ratio: {interval}");
    let page = of(&["--operation", "0"]).stdout;
    let row = page.lines().find(|line| line.starts_with("mean ")).unwrap();
    assert!(row.ends_with("95.0 %, on logarithms") && !row.contains('-'), "{row}");
    let page = of(&["--operation", "0", "--repetitions", "40..60"]).stdout;
    let row = page.lines().find(|line| line.starts_with("mean ")).unwrap();
    assert!(row.ends_with("95.0 %, Student"), "{row}");
}

#[test]
fn nothing_one_and_equal_repetitions_have_a_note_and_nulls() {
    let folder = Folder::new();
    let mut empty = trace(0, |_, _| 0);
    empty.iter_mut().for_each(|rank| rank.paused_call(0));
    let found = stats(&folder, &empty, &[]);
    assert_eq!((&found["used"], &found["median_ns"], &found["mean_ns"]), (&json!(0), &json!(null), &json!(null)));
    assert!(found["notes"].to_string().contains("nothing to describe"), "{}", found["notes"]);
    let one = stats(&folder, &trace(1, |_, _| 500), &[]);
    assert_eq!(
        (&one["median_ns"], &one["sd_ns"], &one["median_interval"]),
        (&json!(500.0), &json!(null), &json!(null))
    );
    assert!(one["notes"].to_string().contains("one repetition"), "{}", one["notes"]);
    let equal = stats(&folder, &trace(100, |_, _| 500), &[]);
    assert_eq!((&equal["sd_ns"], &equal["effective_repetitions"]), (&json!(0.0), &json!(null)));
    assert!(equal["notes"].to_string().contains("all run times are equal"), "{}", equal["notes"]);
    for more in [&["--operation", "0"][..], &["--per-rank"]] {
        for ranks in [&empty, &trace(1, |_, _| 500), &trace(100, |_, _| 0)] {
            let ran = mpitrace(&[&["stats", &folder.trace(ranks)], more].concat());
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{more:?}");
            assert!(!ran.stdout.contains("NaN") && !ran.stdout.contains("inf "), "{}", ran.stdout);
        }
    }
}

#[test]
fn ranks_with_different_numbers_of_repetitions_are_told() {
    let folder = Folder::new();
    let trace = folder.trace(&killed());
    let ran = mpitrace(&["stats", "--json", &trace]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1));
    let found = &ran.json()[0];
    assert_eq!((&found["used"], &found["incomplete"], &found["median_ns"]), (&json!(4), &json!(1), &json!(50.0)));
    assert!(found["notes"].to_string().contains("1 repetition that some rank"), "{}", found["notes"]);
}

#[test]
fn run_times_of_another_tool_have_the_same_numbers_where_they_can() {
    let folder = Folder::new();
    let mut csv = String::from("iteration,rank,metric,value\n");
    for i in 0..50 {
        for rank in 0..2 {
            csv += &format!("{i}, {rank}, runtime, {}\n{i}, {rank}, L3, {i}\n", 1000 + i + 10 * rank);
        }
    }
    csv += "50, 0, runtime, 1000\n";
    let file = folder.file("a.csv", csv.as_bytes());
    let ran = mpitrace(&["stats", "--from", "csv", "--json", &file]);
    let found = &ran.json()[0];
    assert_eq!(
        (&found["median_ns"], &found["max_ns"], &found["completion"]),
        (&json!(1034.5), &json!(1059.0), &json!(null))
    );
    assert!(found["notes"].as_array().is_some_and(|notes| !notes.is_empty()), "{found}");
    assert_eq!(found["counters"]["L3"]["good"]["max"], 49.0);
    csv += "50, 1, runtime, NaN\n";
    let ran = mpitrace(&["stats", "--from", "csv", &folder.file("nan.csv", csv.as_bytes())]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("line 203"), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_done_is_one_line_and_exit_2() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    for wrong in [&["--operation", "7"][..], &["--category", "slow"]] {
        let ran = mpitrace(&[&["stats", &trace], wrong].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{wrong:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{wrong:?}: {}", ran.stderr);
    }
}

#[test]
fn some_repetitions_are_looked_at_alone() {
    let folder = Folder::new();
    let ranks = trace(200, |_, i| if i < 100 { 1000 + i } else { 5000 + i });
    let found = stats(&folder, &ranks, &["--repetitions", "50..100"]);
    assert_eq!((&found["repetitions"], &found["used"]), (&json!(50), &json!(50)));
    assert_eq!((&found["min_ns"], &found["max_ns"]), (&json!(1050.0), &json!(1099.0)));
    let file = folder.trace(&ranks);
    let json = |arguments: &[&str]| mpitrace(arguments).json();
    let categorized = json(&["categorize", "--json", "--repetitions", "150..", &file]);
    assert_eq!(categorized[0]["counts"]["first"], 0);
    assert_eq!(categorized[0]["median_ns"], 5174.5);
    let diagnosed = mpitrace(&["diagnose", "--repetitions", "..7", &file]).stdout;
    assert!(diagnosed.contains("\n7 repetitions: "), "{diagnosed}");
    let page = json(&["report", "--json", "--repetitions", "..100", &file]);
    assert!(page["notes"].to_string().contains("only the repetitions 0..100 are looked at"), "{}", page["notes"]);
    assert_eq!(page["overview"][0]["repetitions"], 100);
    // Of another tool's file too.
    let lines = (0..20).map(|i| format!("{i},0,runtime,{}\n", 100 + i)).collect::<String>();
    let csv = folder.file("run.csv", lines.as_bytes());
    let found = json(&["stats", "--json", "--from", "csv", "--repetitions", "10..15", &csv]);
    assert_eq!((&found[0]["used"], &found[0]["median_ns"]), (&json!(5), &json!(112.0)));
    let none = json(&["stats", "--json", "--repetitions", "1000..", &file]);
    assert_eq!(none[0]["used"], 0);
    let refused = mpitrace(&["stats", "--repetitions", "7", &file]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("as in 1000..2000"), "{}", refused.stderr);
}

/// An operation that is waited for at once 20 times, 2000 ns each, and then 20 times with 3000 ns of work before the
/// wait, of which 500 ns are left: as IMB-NBC calls it, and without a blocking one.
#[test]
fn overlap_is_against_the_same_operation_waited_for_at_once_where_nothing_blocks() {
    let folder = Folder::new();
    let ranks = |without_work: u64| {
        [0, 1].map(|number| {
            let mut rank = SyntheticRank::new(number, 2);
            let operation = rank.operation("MPI_Iallreduce", 0, 8);
            rank.describe(operation, None, "MPI_INT", Some("MPI_SUM"));
            for i in 0..40 {
                let enter = 1_000_000 + 100_000 * i;
                let (total, request) = match i < without_work {
                    true => (2000, SyntheticRequest { init: 300, test: 0, wait: 1600, tests: 0 }),
                    false => (3500, SyntheticRequest { init: 300, test: 0, wait: 200, tests: 0 }),
                };
                rank.call_with_request(operation, enter, enter + total, request);
            }
            rank
        })
    };
    let trace = folder.trace(&ranks(20));
    let found = mpitrace(&["stats", "--json", &trace]).json();
    let non_blocking = &found[0]["non_blocking"];
    assert_eq!((&non_blocking["blocking_operation"], &non_blocking["at_once"]), (&json!(null), &json!(20)));
    assert_eq!((&non_blocking["at_once_ns"], &non_blocking["overlap"]), (&json!(2000.0), &json!(0.75)));
    let page = mpitrace(&["stats", "--operation", "0", &trace]).stdout;
    assert!(page.contains("overlap 75 %: 1 - overhead with work / 2.00 µs of it waited for at once"), "{page}");
    // Where no repetition has work nothing could be overlapped.
    let found = mpitrace(&["stats", "--json", &folder.trace(&ranks(40))]).json();
    let non_blocking = &found[0]["non_blocking"];
    assert_eq!((&non_blocking["at_once"], &non_blocking["overlap"]), (&json!(40), &json!(null)));
    // One alone, as the first repetition of many programs, is no measure.
    let found = mpitrace(&["stats", "--json", &folder.trace(&ranks(1))]).json();
    let non_blocking = &found[0]["non_blocking"];
    let found = ["at_once", "at_once_ns", "overlap"].map(|name| non_blocking[name].clone());
    assert_eq!(found, [json!(1), json!(null), json!(null)]);
}
