//! `mpitrace categorize` by the robust method.

use mpitrace_testing::Random;
use mpitrace_testing::synthetic::{self, SyntheticRank, SyntheticRequest};
use serde_json::{Value, json};

use crate::support::{Folder, mpitrace};

/// Two ranks and an Allreduce of 400 repetitions: 30 slow ones, one outlier, and another level from 250 on.
fn levels() -> [SyntheticRank; 2] {
    [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let allreduce = rank.operation("MPI_Allreduce", 0, 8);
        for i in 0..400 {
            let level = match i {
                0..30 => 3000,
                200 => 9000,
                30..250 => 2000,
                _ => 2500,
            };
            let enter = 1_000_000 + 20_000 * i;
            rank.call(allreduce, enter, enter + level + (i * 7919) % 41);
        }
        rank
    })
}

/// The first 100 repetitions were paused.
fn ring() -> [SyntheticRank; 1] {
    let mut rank = SyntheticRank::new(0, 1);
    let barrier = rank.operation("MPI_Barrier", 0, 0);
    for i in 0..500 {
        let level = if i < 140 { 3000 } else { 2000 };
        rank.call(barrier, 20_000 * i + 1, 20_000 * i + 1 + level + (i * 7919) % 41);
    }
    rank.leave_last(400);
    [rank]
}

#[test]
fn robust_tells_the_class_and_where_the_level_changes() {
    let folder = Folder::new();
    let trace = folder.trace(&levels());
    let ran = mpitrace(&["categorize", "--method", "robust", &trace]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let expected = "\
operation  function       communicator    bytes  ranks  repetitions  median µs  class     end of warm-up  changes  first  warmup  outlier  good
        0  MPI_Allreduce  MPI_COMM_WORLD      8      2          400       2.04  slowdown              30  30, 250      1      29        1   369
";
    assert_eq!(ran.stdout, expected);

    let mut found = mpitrace(&["categorize", "--method", "robust", "--json", &trace]).json()[0].clone();
    let lists = ["category", "run_time_ns", "repetition", "level_ns"]
        .map(|key| found.as_object_mut().unwrap().remove(key).unwrap());
    let expected = json!({
        "operation": 0, "function": "MPI_Allreduce", "communicator": "MPI_COMM_WORLD", "communicator_id": 0,
        "bytes": 8, "root": null, "datatype": null, "reduction": null, "ranks": 2, "repetitions": 400, "incomplete": 0, "method": "robust", "time": "local", "first_repetition": 0,
        "median_ns": 2037.0, "not_one_level": null, "slow_every": null, "late_change": null, "warmup_end": 30, "overlaps": 30, "class": "slowdown", "change_points": [30, 250],
        "counts": {"first": 1, "warmup": 29, "outlier": 1, "good": 369}
    });
    assert_eq!(found, expected);
    assert_eq!([&lists[0][0], &lists[0][29], &lists[0][30], &lists[0][200]], ["first", "warmup", "good", "outlier"]);
    assert_eq!(lists[3].as_array().unwrap().len(), 3);
}

/// A third of the repetitions is slow, none an outlier, and the class is flat: each command says so.
#[test]
fn good_repetitions_that_are_not_one_level_are_said_to_be_none() {
    let folder = Folder::new();
    let mut random = Random::new(7);
    let mut run_time = |i: u64| {
        let usual = 30_000.0 * (0.03 * random.normal()).exp();
        // 3 to 10 000 times as long.
        if i % 3 == 1 { usual * 3.0_f64.powf(1.0 + 7.4 * random.uniform()) } else { usual }
    };
    let rows: String = (0..400).map(|i| format!("{i},0,runtime,{:.0}\n", run_time(i))).collect();
    let file = folder.file("slow.csv", rows.as_bytes());
    let of = |command: &[&str]| mpitrace(&[command, &["--from", "csv", &file]].concat());
    let found = of(&["categorize", "--json"]).json()[0].clone();
    assert_eq!((&found["class"], &found["counts"]["outlier"]), (&json!("flat"), &json!(0)), "else the rule is another");
    let slow = found["not_one_level"].clone();
    assert_eq!((&slow["slow"], &slow["good"]), (&json!(133), &json!(399)));
    let of_slow = |key: &str| slow[key].as_f64().unwrap();
    let [ratio, slow_median, level_median] = ["ratio", "slow_median_ns", "level_median_ns"].map(of_slow);
    assert!((29_000.0..31_000.0).contains(&level_median), "{level_median}");
    assert!((50.0..500.0).contains(&ratio) && (ratio - slow_median / level_median).abs() < 1e-6, "{ratio}");
    let times = format!("take {ratio:.0} times as long, by the medians");
    let sentence = format!("the good repetitions are not one level: 133 of 399 (33 %) {times}");
    let page = of(&["categorize"]);
    assert!(page.stdout.ends_with(&format!("\n\noperation 0: {sentence}\n")), "{}", page.stdout);
    assert!(of(&["stats"]).stdout.contains(&format!("\noperation 0: {sentence}\n")));
    assert!(of(&["stats", "--operation", "0"]).stdout.contains(&format!("\n{sentence}\n")));
    let diagnosis = of(&["diagnose"]).stdout;
    let flat = diagnosis.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&sentence) && !flat.contains("to compare"), "{diagnosis}");
    let terminal = of(&["report"]).stdout;
    assert!(terminal.contains(&format!("\n{sentence}\n")), "{terminal}");
    assert!(terminal.lines().next().is_some_and(|title| title.ends_with(", 1 rank")), "{terminal}");
    let html = folder.path("slow.html");
    assert_eq!(of(&["report", "-o", &html]).code, 0);
    assert!(std::fs::read_to_string(&html).unwrap().contains(&sentence), "not on the page");
    for command in ["stats", "diagnose"] {
        assert_eq!(of(&[command, "--json"]).json()[0]["not_one_level"], slow, "{command}");
    }
    // By Roth's rule they are outliers.
    assert_eq!(of(&["categorize", "--json", "--method", "roth"]).json()[0]["not_one_level"], Value::Null);
}

#[test]
fn every_eighth_repetition_that_is_slow_is_said_to_be() {
    let folder = Folder::new();
    let mut random = Random::new(8);
    let mut run_time = |i: u64| if i % 8 == 3 { 39_000.0 } else { 30_000.0 } * (0.02 * random.normal()).exp();
    let rows: String = (0..1000).map(|i| format!("{i},0,runtime,{:.0}\n", run_time(i))).collect();
    let file = folder.file("pattern.csv", rows.as_bytes());
    let of = |command: &[&str]| mpitrace(&[command, &["--from", "csv", &file]].concat());
    let sentence = "every 8th repetition is slow: 125 of 125 from repetition 3 on take 1.30 times as long, by the medians; \
                    0 of the others do";
    for command in ["categorize", "stats", "diagnose"] {
        let found = of(&[command, "--json"]).json()[0]["slow_every"].clone();
        let place = ["every", "first", "slow", "of", "others_slow"].map(|key| found[key].as_u64().unwrap());
        assert_eq!(place, [8, 3, 125, 125, 0], "{command}");
        assert!(found["p"].as_f64().unwrap() < 1e-6, "{command}: {found}");
        let page = of(&[command]).stdout.split_whitespace().collect::<Vec<&str>>().join(" ");
        assert!(page.contains(sentence), "{command}: {page}");
    }
}

#[test]
fn where_the_first_repetitions_were_not_kept_a_drop_is_a_level_shift() {
    let folder = Folder::new();
    let found = mpitrace(&["categorize", "--method", "robust", "--json", &folder.trace(&ring())]).json()[0].clone();
    assert_eq!((&found["class"], &found["warmup_end"]), (&json!("level-shift"), &Value::Null));
    assert_eq!((&found["first_repetition"], &found["change_points"]), (&json!(100), &json!([140])));
    assert_eq!(found["counts"], json!({"first": 0, "warmup": 0, "outlier": 0, "good": 400}));
}

#[test]
fn other_tools_run_times_are_categorized_too() {
    let folder = Folder::new();
    let rows: String =
        (0..200).map(|i| format!("{i},0,runtime,{}\n", if i < 20 { 3000 + i % 5 } else { 2000 + i % 7 })).collect();
    let csv = folder.file("a.csv", rows.as_bytes());
    let found = mpitrace(&["categorize", "--method", "robust", "--json", "--from", "csv", &csv]).json()[0].clone();
    assert_eq!((&found["class"], &found["warmup_end"]), (&json!("warmup"), &json!(20)));
    assert_eq!(found["file"], csv.as_str());
    let ran = mpitrace(&["categorize", "--time", "global", "--from", "csv", &csv]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1));
    assert!(ran.stderr.contains("only --time local exists"), "{}", ran.stderr);
}

/// Ten calls of 2000 ns on two ranks, of which starting takes 50 and waiting 100.
#[test]
fn run_times_with_the_program_s_own_work_are_marked() {
    let folder = Folder::new();
    let path = folder.path("started.mpitrace");
    let ranks = [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        let [blocking, started] = ["MPI_Allreduce", "MPI_Iallreduce"].map(|name| rank.operation(name, 0, 8));
        for i in 1..=10 {
            rank.call(blocking, 10_000 * i, 10_000 * i + 1000);
            let request = SyntheticRequest { init: 50, test: 0, wait: 100, tests: 0 };
            rank.call_with_request(started, 10_000 * i + 2000, 10_000 * i + 4000, request);
        }
        rank
    });
    synthetic::write(std::path::Path::new(&path), &ranks).unwrap();
    let all = mpitrace(&["categorize", &path, "--json"]).json();
    assert_eq!((all[0].get("own_work"), &all[1]["own_work"]), (None, &json!(0.925)), "{all}");
    let table = mpitrace(&["categorize", &path]).stdout;
    assert!(table.contains("own work") && table.contains("92.5 %"), "{table}");
    let page = folder.path("page.html");
    assert_eq!(mpitrace(&["report", &path, "-o", &page]).code, 0);
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("92.5 % own work between start and completion"), "the page has it");
}
