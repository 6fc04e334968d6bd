//! `mpitrace compare` over traces whose truth is known.

use std::path::Path;

use mpitrace_testing::synthetic::{self, SyntheticRank};
use serde_json::{Value, json};

use crate::support::{Folder, Ran, layers, mpitrace};

/// A trace of one rank that calls Allreduce, with these run times in ns, and Barrier as often, with a tenth of them.
fn trace(folder: &Folder, name: &str, run_times: &[u64]) -> String {
    trace_of(folder, name, "MPI_Allreduce", run_times)
}

fn trace_of(folder: &Folder, name: &str, function: &str, run_times: &[u64]) -> String {
    let mut rank = SyntheticRank::new(0, 1);
    let operation = rank.operation(function, 0, 8);
    rank.describe(operation, None, "MPI_DOUBLE", Some("MPI_SUM"));
    let barrier = rank.operation("MPI_Barrier", 0, 0);
    let mut now = 1_000_000;
    for &run_time in run_times {
        rank.call(operation, now, now + run_time);
        rank.call(barrier, now + run_time, now + run_time + run_time / 10);
        now += 2 * run_time;
    }
    write(folder, name, &[rank])
}

fn write(folder: &Folder, name: &str, ranks: &[SyntheticRank]) -> String {
    let path = folder.path(name);
    synthetic::write(Path::new(&path), ranks).unwrap();
    path
}

/// Some runs whose level rises by 1 % from each to the next, each with a first repetition and an outlier of 5 levels.
fn runs(folder: &Folder, side: &str, count: u64, level: u64) -> Vec<String> {
    let run = |number: u64| {
        let level = level * (100 + number) / 100;
        let mut run_times: Vec<u64> = (0..100).map(|k| level + k % 7).collect();
        (run_times[0], run_times[50]) = (3 * level, 5 * level);
        trace(folder, &format!("{side}{number}.mpitrace"), &run_times)
    };
    (0..count).map(run).collect()
}

fn compare(a: &[String], b: &[String], options: &[&str]) -> Ran {
    let mut arguments = vec!["compare", "--a"];
    arguments.extend(a.iter().map(String::as_str));
    arguments.push("--b");
    arguments.extend(b.iter().map(String::as_str));
    arguments.extend(options);
    mpitrace(&arguments)
}

/// The rows of the operations, behind those of the whole job.
fn operations(ran: &Ran) -> Value {
    let rows = ran.json().as_array().unwrap().clone();
    rows.into_iter().filter(|row| row["operation_key"].as_str().is_some_and(|key| key.contains('/'))).collect()
}

#[test]
fn the_slower_side_is_found_with_its_stars_and_its_size() {
    let folder = Folder::new();
    let (a, b) = (runs(&folder, "a", 5, 10_000), runs(&folder, "b", 5, 12_000));
    let ran = compare(&a, &b, &["--json", "--test", "wilcoxon"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "B is slower");
    let all = operations(&ran);
    assert_eq!(all.as_array().unwrap().len(), 2);
    let one = &all[0];
    assert_eq!(one["operation_key"], "MPI_Allreduce/8/1/-");
    // 2 of C(10, 5) = 252 orders; Holm's correction doubles it, the Barriers being as sure.
    assert_eq!(one["p_raw"], json!(2.0 / 252.0));
    assert_eq!(one["p"], json!(4.0 / 252.0));
    assert_eq!((&one["stars"], &one["verdict"]), (&json!("*"), &json!("a")));
    assert_eq!((&one["a"]["runs"], &one["a"]["median_ns"]), (&json!(5), &json!(10_203.0)));
    assert_eq!((&one["b"]["runs"], &one["b"]["median_ns"]), (&json!(5), &json!(12_243.0)));
    assert_eq!(one["a"]["left_out"], json!({"first": 5, "warmup": 0, "outlier": 5, "incomplete": 0}));
    assert_eq!((&one["a"]["repetitions"], &one["superiority"]), (&json!(490), &json!(1.0)));
    // All pairs: 12 000 (1 + j/100) - 10 000 (1 + i/100); the middle one is 2040.
    assert_eq!(one["shift_ns"], 2040.0);
    // The middle one of the ratios: 1.2 by a small difference in the run numbers.
    assert!((one["effect"].as_f64().unwrap() - 0.2).abs() < 0.001, "{}", one["effect"]);
    let interval: Vec<f64> = serde_json::from_value(one["effect_ci"].clone()).unwrap();
    assert!(0.1 < interval[0] && interval[0] < 0.2 && 0.2 < interval[1] && interval[1] < 0.3, "{interval:?}");
    assert_eq!(one["a"]["averages_ns"].as_array().unwrap().len(), 5);
    assert!(one["a"]["normality"]["p"].as_f64().unwrap() > 0.05);
    assert_eq!(one["a"]["q_q"].as_array().unwrap().len(), 5);

    // Welch's test is far surer of five runs that lie so close. The default needs no correction for two operations.
    let welch = operations(&compare(&a, &b, &["--json", "--test", "welch"]));
    assert_eq!((&welch[0]["test"], &welch[0]["stars"]), (&json!("welch"), &json!("***")));
    let default = operations(&compare(&a, &b, &["--json"]));
    assert_eq!((&default[0]["test"], &default[0]["p"]), (&json!("permutation"), &json!(2.0 / 252.0)));
    let table = compare(&a, &b, &["--test", "wilcoxon"]);
    assert_eq!(table.code, 1);
    let sentence = "MPI_Allreduce/8/1/-: B is 20 % slower, ";
    assert!(table.stdout.contains(sentence), "{}", table.stdout);
    assert_eq!(one["factors"], json!([]), "all was recorded alike");
    let first = table.stdout.lines().next().unwrap();
    assert!(first.starts_with("B takes 4") && first.contains(" in MPI_Allreduce/8/1/- ("), "{first}");
    let is_head = |line: &&str| {
        ["operation", "calls A", "time B", "median A", "B against A"].iter().all(|title| line.contains(title))
    };
    // First the whole job and its calls: the time before the first call is the same.
    let rows: Vec<&str> = table.stdout.lines().skip_while(|line| !is_head(line)).skip(1).collect();
    assert!(rows[0].starts_with("job ") && rows[1].starts_with("collectives "), "{rows:#?}");
    assert!(rows[0].contains("3.15 ms   3.58 ms      +13.7 %  ") && rows[0].ends_with("A is faster"), "{rows:#?}");
    assert!(rows[1].contains(" +20.0 % ") && rows[1].ends_with("A is faster"), "{rows:#?}");
    assert!(rows[2].starts_with("operations ") && rows[2].contains(" +20.0 % "), "{rows:#?}");
    // Of 100 columns p has its place, and equal sides have a verdict.
    let mut narrow = crate::support::command(&["compare", "--a", &a[0], &a[1], &a[2], "--b", &a[0], &a[1], &a[2]]);
    let narrow = String::from_utf8(narrow.env("COLUMNS", "100").output().unwrap().stdout).unwrap();
    let [titles, _, _, _, row] =
        Vec::from_iter(narrow.lines().skip_while(|line| !line.starts_with("operation")).take(5))[..]
    else {
        panic!("{narrow}")
    };
    assert!(titles.split_whitespace().any(|title| title == "p") && titles.ends_with("verdict"), "{narrow}");
    assert!(row.ends_with("  no difference"), "{narrow}");
    let row = rows[3];
    assert!(row.contains("10.2 µs   12.2 µs      +20.0 %") && row.contains("  0.0159 *  "), "{row}");
    let expected = "A: 20 of 1000 repetitions left out: 10 first, 0 warm-up, 10 outliers and 0 incomplete\n";
    assert!(table.stdout.contains(expected), "{}", table.stdout);
}

#[test]
fn effects_and_their_intervals_are_drawn_on_one_scale() {
    let folder = Folder::new();
    let (a, b) = (runs(&folder, "a", 5, 10_000), runs(&folder, "b", 5, 12_000));
    let [svg, png, pdf] = ["forest.svg", "forest.png", "forest.pdf"].map(|name| folder.path(name));
    assert_eq!(compare(&a, &b, &["-o", &svg]).code, 1);
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert!(
        picture.contains("MPI_Allreduce/8/1/-") && picture.contains(">B against A, with intervals of 95 %<"),
        "{picture}"
    );
    for (path, magic) in [(&png, &b"\x89PNG"[..]), (&pdf, b"%PDF")] {
        assert_eq!(compare(&a, &b, &["--json", "-o", path]).code, 1);
        assert!(std::fs::read(path).unwrap().starts_with(magic), "{path}");
    }
    let refused = compare(&a, &b, &["-o", "forest.jpg"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(
        refused.stderr.ends_with("ends in .svg, .png, .pdf or .csv, that of a page in .html\n"),
        "{}",
        refused.stderr
    );
}

/// Roth 2021, figures 4.2 and 4.14; Hunold and Carpen-Amarie 2016, figures 17, 18 and 29.
#[test]
fn sets_are_laid_over_each_other_as_histograms_over_time_and_as_trials() {
    let folder = Folder::new();
    // B rises by a tenth over each run, and its second run is slower by 5 %.
    let rising = |number: u64, rise: u64, copy: &str| -> String {
        let run_times: Vec<u64> =
            (0..400).map(|k| (10_000 + rise * k / 400 + k * 7919 % 101) * (100 + 5 * number) / 100).collect();
        trace(&folder, &format!("{rise}-{number}{copy}.mpitrace"), &run_times)
    };
    let [a, b] = [0, 1000].map(|rise| vec![rising(0, rise, ""), rising(1, rise, "")]);
    let drawn = |plot: &str, more: &[&str]| {
        let file = folder.path(&format!("{plot}.svg"));
        let ran = compare(&a, &b, &[&["-o", &file, "--plot", plot, "--method", "none"], more].concat());
        assert!(ran.code <= 1, "{plot}: {}", ran.stderr);
        std::fs::read_to_string(file).unwrap()
    };
    let histogram = drawn("histogram", &[]);
    assert!(
        histogram.contains(">run time, \u{b5}s<") && histogram.contains(">share of the repetitions<"),
        "{histogram}"
    );
    // Of Allreduce and of Barrier, 60 bins with both ends.
    for name in ["A", "B"] {
        assert_eq!(layers(&histogram, name).iter().map(Vec::len).collect::<Vec<_>>(), [122; 2], "{name}");
    }
    let densities = layers(&histogram, "density");
    assert!(densities.len() == 4 && densities.iter().all(|curve| curve.len() == 241), "{}", densities.len());
    // The highest place of the density of B is behind that of A.
    let mode = |curve: &[(f64, f64)]| curve.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
    assert!(mode(&densities[1]) > mode(&densities[0]), "{} {}", mode(&densities[0]), mode(&densities[1]));

    let drift = drawn("drift", &[]);
    let lines = layers(&drift, "line");
    assert!(lines.len() == 4 && lines.iter().all(|line| line.len() == 20), "{drift}");
    let rise = |line: &[(f64, f64)]| line[0].1 - line[19].1;
    assert!(rise(&lines[1]) > 100.0 && rise(&lines[0]).abs() < 20.0, "{} {}", rise(&lines[0]), rise(&lines[1]));

    let trials = drawn("trials", &[]);
    assert!(trials.contains(">mean of a trial / the smallest<") && trials.contains(">trial<"), "{trials}");
    assert_eq!(layers(&trials, "A").iter().map(Vec::len).collect::<Vec<_>>(), [2; 2]);
    let found = operations(&compare(&a, &b, &["--json", "--method", "none"]))[0]["a"]["reproducibility"].clone();
    assert_eq!(found["normalised"][0], 1.0);
    assert!((found["largest_difference"].as_f64().unwrap() - 0.05).abs() < 1e-3, "{found}");
    let four: Vec<String> = ["", "b"].iter().flat_map(|copy| [0, 1].map(|number| rising(number, 0, copy))).collect();
    // Two runs a trial, both trials of the same two.
    let paired = operations(&compare(&four, &b, &["--json", "--method", "none", "--trials", "2"]));
    assert_eq!(paired[0]["a"]["reproducibility"], json!({"normalised": [1.0, 1.0], "largest_difference": 0.0}));
    assert!(drawn("trials", &["--trials", "2"]).contains(">mean of a trial / the smallest<"));
    let refused = compare(&a, &b, &["--trials", "3"]);
    assert!(
        refused.code == 2 && refused.stderr.contains("A: 2 runs cannot be shared out evenly among 3 trials"),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_alternative_and_the_order_of_the_sides_decide() {
    let folder = Folder::new();
    let (fast, slow) = (runs(&folder, "f", 5, 10_000), runs(&folder, "s", 5, 12_000));
    let cases = [
        (&fast, &slow, "two-sided", "a", 1),
        (&fast, &slow, "less", "a", 1),
        (&fast, &slow, "greater", "undecided", 0),
        (&slow, &fast, "two-sided", "b", 0),
        (&slow, &fast, "less", "undecided", 0),
        (&slow, &fast, "greater", "b", 0),
    ];
    for test in ["permutation", "wilcoxon", "welch"] {
        for (a, b, alternative, verdict, code) in cases {
            let ran = compare(a, b, &["--json", "--alternative", alternative, "--test", test]);
            assert_eq!(
                (operations(&ran)[0]["verdict"].as_str(), ran.code),
                (Some(verdict), code),
                "{test} {alternative}"
            );
        }
    }
}

#[test]
fn what_is_left_out_can_be_chosen_and_is_counted() {
    let folder = Folder::new();
    let (a, b) = (runs(&folder, "a", 2, 10_000), runs(&folder, "b", 2, 10_000));
    let left_out =
        |method: &str| operations(&compare(&a, &b, &["--json", "--method", method]))[0]["a"]["left_out"].clone();
    assert_eq!(left_out("roth"), json!({"first": 2, "warmup": 0, "outlier": 2, "incomplete": 0}));
    assert_eq!(left_out("robust"), json!({"first": 2, "warmup": 0, "outlier": 2, "incomplete": 0}));
    assert_eq!(left_out("tukey"), json!({"first": 0, "warmup": 0, "outlier": 4, "incomplete": 0}));
    assert_eq!(left_out("none"), json!({"first": 0, "warmup": 0, "outlier": 0, "incomplete": 0}));
}

#[test]
fn one_run_on_each_side_has_no_p_and_says_how_many_it_takes() {
    let folder = Folder::new();
    let (a, b) = (runs(&folder, "a", 1, 10_000), runs(&folder, "b", 1, 20_000));
    assert_eq!(operations(&compare(&a, &b, &["--json"]))[0]["runs_needed"], 3);
    let ran = compare(&a, &b, &["--json", "--test", "wilcoxon"]);
    assert_eq!(ran.code, 0);
    let one = &operations(&ran)[0];
    let expected = (&Value::Null, &json!(""), &Value::Null, &json!("undecided"), &json!(5));
    assert_eq!((&one["p"], &one["stars"], &one["effect_ci"], &one["verdict"], &one["runs_needed"]), expected);
    assert!((one["effect"].as_f64().unwrap() - 10_000.0 / 10_003.0).abs() < 1e-12);
    let expected = "too few runs to compare 2 of 2 operations: the test can reach 0.05, corrected for 2 operations, \
                    with 5 runs on each side\n";
    assert!(ran.stderr.ends_with(expected), "{}", ran.stderr);
}

/// Two runs a side suffice: the intervals decide. With one more are asked for.
#[test]
fn faster_in_the_middle_and_slower_in_the_tail_is_a_crossing() {
    let folder = Folder::new();
    // The thesis' figures 4.16 and 4.18, in hundredths of ns: 26.94 against 30.3 µs, but 69.38 against 68.19.
    let series = |median: u64, p95: u64, slow: u64| -> Vec<u64> {
        (0..2000).map(|k| if k % 100 < slow { p95 - 50 + k % 97 } else { median - 50 + k % 101 }).collect()
    };
    let a = [0, 1].map(|run| trace(&folder, &format!("a{run}.mpitrace"), &series(26_940 + run, 69_380, 20)));
    let b = [0, 1].map(|run| trace(&folder, &format!("b{run}.mpitrace"), &series(30_280 + run, 68_190, 10)));
    for (a, b) in [(&a, &b), (&b, &a)] {
        let ran = compare(a, b, &["--json"]);
        assert_eq!(ran.code, 0, "neither is slower");
        let one = &operations(&ran)[0];
        assert_eq!((&one["verdict"], &one["crosses"]), (&json!("crossing"), &json!(true)));
        let ran = compare(&a[..1], &b[..1], &["--json"]);
        let one = &operations(&ran)[0];
        assert_eq!((&one["verdict"], &one["crosses"]), (&json!("undecided"), &Value::Null));
        assert!(ran.stderr.contains("make 3 runs or more of each side, in random order\n"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("95th"), "one run says nothing of tails: {}", ran.stderr);
        assert_eq!((&one["sentence"], &one["detectable"]), (&Value::Null, &Value::Null));
    }
    let table = compare(&a, &b, &[]).stdout;
    let at = table.find("MPI_Allreduce/8/1/- crosses, outliers included:\n").expect("the crossing explained");
    let explained: Vec<&str> = table[at..].lines().collect();
    assert!(explained[1].contains("median: A 27.0") && explained[1].ends_with("A is faster"), "{explained:?}");
    assert!(explained[2].contains("95th percentile: A 69.4") && explained[2].ends_with("B is faster"), "{explained:?}");
}

#[test]
fn operations_of_one_side_are_named_and_none_in_common_is_refused() {
    let folder = Folder::new();
    let times: Vec<u64> = (0..30).map(|k| 1000 + k).collect();
    let a = [trace_of(&folder, "a.mpitrace", "MPI_Allreduce", &times)];
    let b = [trace_of(&folder, "b.mpitrace", "MPI_Scan", &times)];
    let ran = compare(&a, &b, &["--json"]);
    let rows = operations(&ran);
    assert_eq!(rows.as_array().unwrap().len(), 3);
    for (place, side, other, function, verdict) in
        [(1, "a", "b", "MPI_Allreduce", "gone"), (2, "b", "a", "MPI_Scan", "new")]
    {
        let row = &rows[place];
        assert_eq!((&row["function"], &row["verdict"], &row[other]), (&json!(function), &json!(verdict), &Value::Null));
        assert_eq!((&row[side]["calls"], &row["p"]), (&json!(30.0), &Value::Null));
        let sentence = row["sentence"].as_str().unwrap();
        assert!(sentence.starts_with(&format!("{verdict} in B: 30 calls, 30.4")), "{sentence}");
    }
    let table = compare(&a, &b, &[]).stdout;
    let row = |function: &str| table.lines().rev().find(|line| line.starts_with(function)).unwrap();
    assert!(row("MPI_Allreduce/8/1/- ").ends_with("gone") && row("MPI_Scan/8/1/- ").ends_with("new"), "{table}");
    // The time of a job that has none is not known.
    let empty = [write(&folder, "empty.mpitrace", &[SyntheticRank::new(0, 1)])];
    let ran = compare(&a, &empty, &[]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1));
    let expected = "A and B have no operation in common; A has MPI_Allreduce/8/1/-, MPI_Barrier/0/1/-, B has none\n";
    assert!(ran.stderr.ends_with(expected), "{}", ran.stderr);
    let csv = ["MPI_Bcast", "MPI_Scan"].map(|name| {
        let path = folder.path(&format!("{name}.csv"));
        std::fs::write(&path, (0..30).map(|k| format!("{k},0,runtime,{}\n", 1000 + k)).collect::<String>()).unwrap();
        path
    });
    let ran = compare(&csv[..1], &csv[1..], &["--from", "csv"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("operation "), "not traced: {} {}", ran.stdout, ran.stderr);
}

/// Two ranks that compute, of which rank 1 is later by so much, and call Allreduce so often.
fn job(folder: &Folder, name: &str, calls: u64, later: u64) -> Vec<String> {
    let ranks = [0u64, 1].map(|number| {
        let mut rank = SyntheticRank::new(number as u32, 2).stamped();
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        rank.describe(operation, None, "MPI_DOUBLE", Some("MPI_SUM"));
        let mut now = 1_000_000;
        for _ in 0..calls {
            let end = now + 100_000 + later;
            rank.call(operation, now + if number == 1 { later } else { 0 }, end);
            now = end + 50_000;
        }
        rank
    });
    vec![write(folder, name, &ranks)]
}

#[test]
fn parts_and_remainder_are_the_difference_of_the_job() {
    let folder = Folder::new();
    let (a, b) = (job(&folder, "a", 100, 0), job(&folder, "b", 400, 30_000));
    let ran = compare(&a, &b, &["--json"]);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let job = &found["job"];
    let number = |value: &Value| value.as_f64().unwrap();
    let parts = job["parts"].as_array().unwrap();
    let sum: f64 = parts.iter().map(|part| number(&part["change_s"])).sum();
    let (change, remainder) = (number(&job["change_s"]), number(&job["remainder_s"]));
    assert!((sum + remainder - change).abs() < 1e-12, "{job:#}");
    // 100 x 150 us and 400 x 180 us.
    assert!((change - 0.057).abs() < 1e-4 && remainder.abs() < 1e-4, "{job:#}");
    let of = |kind: &str| parts.iter().find(|part| part["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {job:#}"));
    let calls = of("operation");
    assert_eq!((&calls["a"]["calls"], &calls["b"]["calls"]), (&json!(100.0), &json!(400.0)));
    assert!((number(&calls["change_s"]) - 0.030).abs() < 1e-4, "{calls}");
    // Rank 0 waits for 30 us in each of 400 calls: 6 ms of each rank.
    let waiting = of("waiting");
    assert_eq!((&waiting["rank"], &waiting["state"]), (&json!(1), &json!("both")));
    assert!((number(&waiting["change_s"]) - 0.006).abs() < 1e-4, "{waiting}");
    let sentence = job["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("B takes 4.6 times as long as A (B takes 57.0 ms longer), "), "{sentence}");
    assert!(sentence.contains("30.0 ms in MPI_Allreduce/8/2/- (400 calls in place of 100)"), "{sentence}");
    // A call is as fast as before, and all of them are not.
    let row = &operations(&ran)[0];
    assert_eq!(
        (&row["basis"], &row["a"]["calls"], &row["b"]["calls"]),
        (&json!("total"), &json!(100.0), &json!(400.0))
    );
    // The rows of the table add up as well.
    let table = compare(&a, &b, &[]).stdout;
    assert_eq!(table.lines().next(), Some(sentence));
    assert!(table.lines().any(|line| line.starts_with("remainder ")), "{table}");
}

/// The time of the job decides where nothing else can be compared, and where what both have is as fast.
#[test]
fn a_job_that_takes_longer_is_slower_without_an_operation_in_common() {
    let folder = Folder::new();
    let side = |name: &str, function: &str, count: u64, longer: u64| -> Vec<String> {
        let run = |number: u64| {
            let mut rank = SyntheticRank::new(0, 1);
            let operation = rank.operation(function, 0, 8);
            let mut now = 1_000_000;
            for _ in 0..30 {
                rank.call(operation, now, now + 1000);
                now += longer * (100_000 + 100 * number);
            }
            write(&folder, &format!("{name}{number}.mpitrace"), &[rank])
        };
        (0..count).map(run).collect()
    };
    let (a, b) = (side("a", "MPI_Allreduce", 6, 1), side("b", "MPI_Scan", 6, 9));
    let ran = compare(&a, &b, &[]);
    assert!(ran.stdout.starts_with("B takes 7.0 times as long as A"), "{}", ran.stdout);
    assert_eq!((ran.code, compare(&b, &a, &[]).code), (1, 0), "{}", ran.stderr);
    let same = side("c", "MPI_Allreduce", 6, 9);
    assert_eq!((compare(&a, &same, &[]).code, compare(&same, &a, &[]).code), (1, 0));
    // One run of each decides nothing.
    assert_eq!(compare(&a[..1], &b[..1], &[]).code, 0);
}

/// Forty times the calls, each of which is shorter: B is not faster.
#[test]
fn a_side_with_more_and_shorter_calls_is_compared_by_all_of_them() {
    let folder = Folder::new();
    let side = |name: &str, calls: u64, ns: u64| -> Vec<String> {
        let run = |number: u64| {
            let times: Vec<u64> = (0..calls).map(|k| ns + number + k % 7).collect();
            trace(&folder, &format!("{name}{number}.mpitrace"), &times)
        };
        (0..6).map(run).collect()
    };
    let (a, b) = (side("a", 50, 10_000), side("b", 2000, 4_000));
    let ran = compare(&a, &b, &["--json"]);
    let row = &operations(&ran)[0];
    assert_eq!((ran.code, &row["verdict"], &row["basis"]), (1, &json!("a"), &json!("total")), "{row}");
    assert!((row["effect"].as_f64().unwrap() - 15.0).abs() < 0.1, "{row}");
    let sentence = row["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("2000 calls of B in place of 50, 4.01 µs each in place of 10.0 µs; in all B takes 16 "),
        "{sentence}"
    );
    let table = compare(&a, &b, &[]).stdout;
    assert!(!table.contains("B is faster") && table.contains("A is faster in all"), "{table}");
}

#[test]
fn a_run_without_good_repetitions_counts_as_none() {
    let folder = Folder::new();
    let a = runs(&folder, "a", 4, 10_000);
    let mut b = runs(&folder, "b", 4, 10_000);
    b.push(trace(&folder, "single.mpitrace", &[10_000]));
    let ran = compare(&a, &b, &["--json"]);
    let one = &operations(&ran)[0];
    assert_eq!((&one["b"]["runs"], &one["b"]["runs_without"]), (&json!(4), &json!(1)));
    let expected = "B: no good repetition of MPI_Allreduce/8/1/- (MPI_COMM_WORLD MPI_DOUBLE MPI_SUM) in 1 of 5 runs";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    let alone = compare(&a, &b[4..], &["--json"]);
    assert_eq!(operations(&alone), json!([]));
    assert!(alone.stderr.contains("B: no good repetition of "), "{}", alone.stderr);
}

#[test]
fn equal_run_times_are_no_difference() {
    let folder = Folder::new();
    let flat = |name: String| trace(&folder, &name, &[5000; 40]);
    let [a, b] = ["a", "b"].map(|side| (0..6).map(|k| flat(format!("{side}{k}"))).collect::<Vec<_>>());
    for (test, p) in [("permutation", json!(1.0)), ("wilcoxon", json!(1.0)), ("welch", Value::Null)] {
        let ran = compare(&a, &b, &["--json", "--test", test]);
        let one = &operations(&ran)[0];
        assert_eq!((ran.code, &one["p"], &one["verdict"], &one["effect"]), (0, &p, &json!("none"), &json!(0.0)));
    }
}

#[test]
fn parts_of_one_run_are_one_run() {
    let folder = Folder::new();
    let ranks = [0, 1].map(|number| {
        let mut rank = SyntheticRank::new(number, 2);
        rank.header.job = [7; 16];
        let operation = rank.operation("MPI_Allreduce", 0, 8);
        (0..40).for_each(|k| rank.call(operation, 1_000_000 + 10_000 * k, 1_005_000 + 10_000 * k));
        rank
    });
    let whole = [write(&folder, "whole.mpitrace", &ranks)];
    let parts: Vec<String> =
        ranks.chunks(1).enumerate().map(|(k, rank)| write(&folder, &format!("part{k}.mpitrace"), rank)).collect();
    let ran = compare(&whole, &parts, &["--json"]);
    let one = &operations(&ran)[0];
    assert_eq!((&one["b"]["runs"], &one["b"]["repetitions"]), (&json!(1), &json!(39)), "{}", ran.stderr);
}

/// Values that are the same within each side and differ between them are listed; those that each run has of its own are
/// not.
#[test]
fn recorded_differences_and_what_could_have_been_seen_are_said() {
    let folder = Folder::new();
    let side = |name: &str, algorithm: &str, level: u64| -> Vec<String> {
        let run = |number: u64| {
            let mut rank = SyntheticRank::new(0, 1);
            rank.metadata = [
                ("library", "an MPI library"),
                ("collective_algorithms", algorithm),
                ("start_time", &format!("2026-01-0{number}T00:00:00")),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
            let operation = rank.operation("MPI_Allreduce", 0, 8);
            // Runs differ by 1 %: by 7 in 8 of a per cent on average.
            (1..=100)
                .for_each(|k| rank.call(operation, 100_000 * k, 100_000 * k + level + level / 100 * number + k % 7));
            write(&folder, &format!("{name}{number}.mpitrace"), &[rank])
        };
        (0..6).map(run).collect()
    };
    let (a, b) = (side("a", "ring", 10_000), side("b", "tree", 8_000));
    let ran = compare(&a, &b, &["--json"]);
    let one = &operations(&ran)[0];
    assert_eq!(one["factors"], json!([{"name": "collective_algorithms", "a": "ring", "b": "tree"}]));
    let sentence = one["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("B is 20 % faster, 1") && sentence.ends_with(" %"), "{sentence}");
    let page = compare(&a, &b, &[]).stdout;
    let expected = "\nRecorded differences between the sides:\n  collective_algorithms: A ring, B tree\n";
    assert!(page.contains(expected), "{page}");
    assert!(page.contains(&format!("MPI_Allreduce/8/1/-: {sentence}\n")), "{page}");

    // Equal sides: six runs with a standard deviation of 1.8 % of their mean; 3.1 standard errors.
    let ran = compare(&a, &side("c", "ring", 10_000), &["--json"]);
    let one = &operations(&ran)[0];
    let detectable = one["detectable"].as_f64().unwrap();
    assert!((0.03..0.04).contains(&detectable), "{detectable}");
    assert_eq!(one["sentence"], "no difference seen (could have seen one of 3.3 %)");
}

/// Two of the six runs of B were disturbed as a whole: no share is below -100 %, and large ones are ratios.
#[test]
fn disturbed_runs_make_no_impossible_interval_and_large_differences_are_ratios() {
    let folder = Folder::new();
    let side = |name: &str, levels: &[u64]| -> Vec<String> {
        let run = |(number, level): (usize, &u64)| {
            let run_times: Vec<u64> = (0..100).map(|k| level + k % 7).collect();
            trace(&folder, &format!("{name}{number}.mpitrace"), &run_times)
        };
        levels.iter().enumerate().map(run).collect()
    };
    let a = side("a", &[495, 496, 494, 497, 493, 500]);
    let b = side("b", &[860, 1_250, 1_327, 1_400, 6_500_000, 19_400_000]);
    let ran = compare(&a, &b, &["--json"]);
    let one = &operations(&ran)[0];
    // The undisturbed ones decide.
    let sentence = one["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("B takes 2.7 times as long as A, "), "{sentence}");
    let one = &operations(&compare(&a, &b, &["--json", "--test", "welch"]))[0];
    let interval: Vec<f64> = serde_json::from_value(one["effect_ci"].clone()).unwrap();
    assert!(-1.0 < interval[0] && interval[0] < 0.0 && interval[1] < 1e5, "{interval:?}");
    assert!(one["shift_ci_ns"][0].as_f64().unwrap() > -500.0, "{one}");
    let sentence = one["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("not decided (B takes 5") && sentence.ends_with(" times)"), "{sentence}");
    let page = compare(&a, &b, &["--test", "welch"]).stdout;
    assert!(page.contains(" times") && !page.contains("-100.0 %"), "{page}");
    let row = page.lines().filter(|line| line.starts_with("MPI_Allreduce/8/1/- ")).nth(1).unwrap();
    assert!(row.contains(" 50 times  1/") || row.contains(" 51 times  1/"), "{row}");

    let slow = side("s", &[5_950, 6_000, 6_010, 6_020, 6_030, 6_050]);
    let one = operations(&compare(&a, &slow, &["--json"]))[0].clone();
    let sentence = one["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("B takes 12 times as long as A, 1"), "{sentence}");
    let one = operations(&compare(&slow, &a, &["--json"]))[0].clone();
    let sentence = one["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("A takes 12 times as long as B, 1"), "{sentence}");
}

/// A and C are equal; B takes a fifth longer.
#[test]
fn of_three_sets_the_differences_that_stand_are_listed() {
    let folder = Folder::new();
    let [a, b, c] = [("a", 10_000), ("b", 12_000), ("c", 10_000)].map(|(name, level)| runs(&folder, name, 6, level));
    let with_c = |more: &[&str]| {
        let mut options = vec!["--c"];
        options.extend(c.iter().map(String::as_str));
        options.extend(more);
        compare(&a, &b, &options)
    };
    let ran = with_c(&["--json"]);
    let found: Vec<(Value, Value, Value)> = operations(&ran)
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["function"] == "MPI_Allreduce")
        .map(|row| (row["sides"].clone(), row["verdict"].clone(), row["p"].clone()))
        .collect();
    // 2 of C(12, 6) = 924 ways, of three pairs.
    let p = json!(3.0 * 2.0 / 924.0);
    let expected = [
        (json!(["A", "B"]), json!("a"), p.clone()),
        (json!(["A", "C"]), json!("none"), json!(1.0)),
        (json!(["B", "C"]), json!("b"), p),
    ];
    assert_eq!((ran.code, found), (1, expected.to_vec()), "{}", ran.stderr);
    let page = with_c(&[]).stdout;
    let expected = "Differences that stand, corrected for 3 pairs of sets:\n";
    let lines: Vec<&str> = page[page.find(expected).expect("the list")..].lines().collect();
    assert!(lines.contains(&"MPI_Allreduce/8/1/-: A < B, C < B"), "{lines:#?}");
    for figure in ["forest", "runs", "distribution"] {
        let path = folder.path(&format!("{figure}.svg"));
        assert_eq!(with_c(&["-o", &path, "--plot", figure]).code, 1);
        assert!(std::fs::read_to_string(&path).unwrap().contains("MPI_Barrier/0/1/-"), "{figure}");
    }
    let path = folder.path("sizes.svg");
    let ran = with_c(&["-o", &path, "--plot", "sizes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "no function has two sizes");
    assert!(ran.stderr.ends_with("sizes.svg: nothing to show\n"), "{}", ran.stderr);
}

/// The medians of each set over the sizes; asterisks where the test finds a difference.
#[test]
fn medians_are_drawn_over_message_sizes() {
    let folder = Folder::new();
    let side = |name: &str, levels: [u64; 3]| -> Vec<String> {
        let run = |number: u64| {
            let mut rank = SyntheticRank::new(0, 1);
            let mut now = 1_000_000;
            for (bytes, level) in [8, 1024, 65_536].into_iter().zip(levels) {
                let operation = rank.operation("MPI_Bcast", 0, bytes);
                for k in 0..50 {
                    rank.call(operation, now, now + level * (100 + number) / 100 + k % 7);
                    now += 2 * level;
                }
            }
            write(&folder, &format!("{name}{number}.mpitrace"), &[rank])
        };
        (0..6).map(run).collect()
    };
    let (a, b) = (side("a", [1_000, 5_000, 90_000]), side("b", [1_000, 8_000, 60_000]));
    for (figure, label) in [("sizes", "median over the runs"), ("normalised", "over the median of A")] {
        let path = folder.path(&format!("{figure}.svg"));
        assert_eq!(compare(&a, &b, &["-o", &path, "--plot", figure]).code, 1, "B is slower at 1024 bytes");
        let picture = std::fs::read_to_string(&path).unwrap();
        assert!(picture.contains(">MPI_Bcast by message size<") && picture.contains(label), "{picture}");
        assert_eq!(picture.matches(">**<").count(), 2, "of three sizes two differ: {picture}");
    }
    let path = folder.path("all.html");
    assert_eq!(compare(&a, &b, &["-o", &path]).code, 1);
    let page = std::fs::read_to_string(&path).unwrap();
    let titles = ["Effects", "Medians by message size", "Medians by message size, over those of A", "Runs"];
    for title in titles.into_iter().chain(["Distribution of the runs"]) {
        assert!(page.contains(&format!("<h2>{title}</h2>")), "{title}");
    }
    // The effects, by size, over A, three of runs, a distribution and a Q-Q plot of each size, of each size a histogram
    // and the course, and the trials of all sizes.
    assert_eq!(page.matches("<figure").count(), 1 + 2 + 3 + 2 * 3 + 3 + 3 + 1);
    assert!(page.contains("<li>MPI_Bcast/1024/1/-: B is 60 % slower"), "what the test found: {page}");
}

#[test]
fn a_file_on_both_sides_is_named() {
    let folder = Folder::new();
    let a = runs(&folder, "a", 3, 10_000);
    let ran = compare(&a, &a[..2], &[]);
    for file in &a[..2] {
        let line = format!("mpitrace: {file}: is in --a and in --b: it is compared with itself\n");
        assert!(ran.stderr.contains(&line), "{}", ran.stderr);
    }
    assert!(!ran.stderr.contains(&a[2]), "{}", ran.stderr);
}

#[test]
fn run_times_that_were_not_traced_are_compared_too() {
    let folder = Folder::new();
    let csv = |name: &str, level: f64| {
        let rows = (0..100).map(|k| format!("{k},0,runtime,{}\n", level + f64::from(k % 7) / 10.0));
        folder.file(name, rows.collect::<String>().as_bytes())
    };
    let side = |name: &str, level: f64| -> Vec<String> {
        (0..4).map(|run| csv(&format!("{name}{run}.csv"), level + 50.0 * f64::from(run))).collect()
    };
    let (a, b) = (side("a", 1000.0), side("b", 900.0));
    let ran = compare(&a, &b, &["--from", "csv", "--json", "--alternative", "greater", "--test", "welch"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let one = &operations(&ran)[0];
    assert_eq!((&one["a"]["runs"], &one["verdict"]), (&json!(4), &json!("b")));
    // The geometric means of 1000.3, 1050.3, ... and of 900.3, 950.3, ...
    let mean = |from: f64| (0..4).map(|run| (from + 50.0 * f64::from(run)).ln()).sum::<f64>() / 4.0;
    let expected = mean(900.3).exp() - mean(1000.3).exp();
    assert!((one["shift_ns"].as_f64().unwrap() - expected).abs() < 1e-6, "{} {expected}", one["shift_ns"]);
    let ran = compare(&a, &b, &["--from", "csv", "--time", "global"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("only --time local exists"), "{}", ran.stderr);
    let broken = folder.file("broken.csv", b"0,0,runtime,1000\n1,0,runtime,NaN\n2,0,runtime,inf\n");
    let ran = compare(&a, &[broken], &["--from", "csv"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("broken.csv").count(), 1, "{}", ran.stderr);
}

#[test]
fn wrong_usage_is_one_line_and_nothing_on_stdout() {
    let folder = Folder::new();
    let a = runs(&folder, "a", 3, 10_000);
    let text = folder.file("text", &[b'x'; 100]);
    let [one, two, three] = [&a[0], &a[1], &a[2]].map(String::as_str);
    let cases: [(&[&str], &str); 6] = [
        (&["--a", one], "the following required arguments were not provided: --b <FILE>..."),
        (&["--a", one, "--b", &text], "text: is not a trace of mpitrace"),
        (&["--a", one, "--b", "/nonexistent"], "/nonexistent: No such file"),
        (&["--a", one, two, one, "--b", three], "is given twice in --a: each file is a separate run"),
        (&["--a", one, "--b", two, "--alternative", "other"], "possible values: two-sided, less, greater"),
        (&["--a", one, "--b", two, "--method", "guess"], "possible values: robust,"),
    ];
    for (arguments, message) in cases {
        let ran = mpitrace(&[&["compare"], arguments].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(message) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
    }
}
