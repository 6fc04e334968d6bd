//! `mpitrace benchmark scheme`: the numbers that benchmarks would print.

use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::{Value, json};

use crate::support::{Folder, killed, mpitrace};
use crate::traces::trace;

fn scheme_of(folder: &Folder, ranks: &[SyntheticRank], more: &[&str]) -> Value {
    let ran = mpitrace(&[&["benchmark", "scheme", "--json", &folder.trace(ranks)], more].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    ran.json()[0].clone()
}

#[test]
fn schemes_print_what_the_benchmarks_would() {
    let folder = Folder::new();
    let ranks = trace(100, |rank, i| 1000 + 10 * i + 100 * u64::from(rank));
    let apply = |scheme: &str, more: &[&str]| scheme_of(&folder, &ranks, &[&["--scheme", scheme], more].concat());
    // The longest is rank 1's: 1100 to 2090.
    let ps2 = apply("ps2", &[]);
    assert_eq!((&ps2["mean_ns"], &ps2["used"], &ps2["removed"]), (&json!(1595.0), &json!(100), &json!(0)));
    assert!(ps2["mean_interval"]["lower_ns"].as_f64().unwrap() < 1595.0);
    let ps3 = apply("ps3", &[]);
    assert_eq!((&ps3["min_ns"], &ps3["max_ns"], &ps3["mean_ns"]), (&json!(1495.0), &json!(1595.0), &json!(1545.0)));
    assert_eq!(apply("ps4", &[])["mean_ns"], 1645.0);
    let ps5 = apply("ps5", &[]);
    assert_eq!((&ps5["min_ns"], &ps5["max_ns"], &ps5["used"]), (&json!(1000.0), &json!(2090.0), &json!(200)));
    assert_eq!(apply("ps6", &[])["median_ns"], 1595.0);
    // The loop of rank 0 lasts 99 x 100 us and the last call.
    assert_eq!(apply("ps7", &[])["min_ns"], (99.0 * 100_000.0 + 1990.0) / 100.0);
    // The root's first loop of two: one step, and the second call.
    assert_eq!(apply("ps8", &["--loop", "2"])["min_ns"], (100_000.0 + 1010.0) / 2.0);
    assert_eq!(apply("ps8", &["--loop", "30"])["removed"], 10);
    assert_eq!(apply("ps2", &["--timing", "root"])["mean_ns"], 1495.0);
    assert_eq!(apply("ps2", &["--timing", "maximum"])["mean_ns"], 1595.0);
}

#[test]
fn outliers_are_removed_by_the_rule_that_is_asked_for() {
    let folder = Folder::new();
    let noisy = |rank: u32, i: u64| 1000 + (i * 37) % 101 + if (rank, i) == (0, 50) { 5000 } else { 0 };
    for rule in ["tukey", "mpibench"] {
        let found = scheme_of(&folder, &trace(200, noisy), &["--scheme", "ps2", "--remove", rule]);
        assert_eq!(
            (&found["used"], &found["removed"], &found["max_ns"]),
            (&json!(199), &json!(1), &json!(1100.0)),
            "{rule}"
        );
    }
}

#[test]
fn a_scheme_says_what_it_lacks() {
    let folder = Folder::new();
    let rows: String = (0..60).map(|i| format!("{i},0,runtime,{}\n", if i == 7 { 100_000 } else { 100 })).collect();
    let file = folder.file("a.csv", rows.as_bytes());
    let of = |more: &[&str]| mpitrace(&[&["benchmark", "scheme", "--from", "csv", &file], more].concat());
    assert!(of(&["--scheme", "ps7"]).stdout.contains("ps7 needs time stamps"));
    // MPIBlib prints Student's interval, also where it reaches below 0: the standard error is 1665, t(59) 2.000995.
    let found = of(&["--scheme", "ps2", "--json"]).json();
    let number = |value: &Value| value.as_f64().unwrap();
    assert!((number(&found[0]["standard_error_ns"]) - 1665.0).abs() < 1e-6, "{}", found[0]);
    let interval = &found[0]["mean_interval"];
    assert!((number(&interval["lower_ns"]) - (1765.0 - 3331.657)).abs() < 0.01, "{interval}");
    assert!((number(&interval["upper_ns"]) - (1765.0 + 3331.657)).abs() < 0.01, "{interval}");
    for scheme in ["ps5", "ps8"] {
        let mut empty = trace(0, |_, _| 0);
        empty.iter_mut().for_each(|rank| rank.paused_call(0));
        for ranks in [&empty, &trace(1, |_, _| 500), &trace(100, |_, _| 0)] {
            let ran = mpitrace(&["benchmark", "scheme", "--scheme", scheme, &folder.trace(ranks)]);
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{scheme}");
            assert!(!ran.stdout.contains("NaN") && !ran.stdout.contains("inf "), "{}", ran.stdout);
        }
    }
    let ran = mpitrace(&["benchmark", "scheme", "--scheme", "ps2", &folder.trace(&killed())]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "an incomplete trace: {}", ran.stderr);
}

#[test]
fn what_cannot_be_done_is_one_line_and_exit_2() {
    let folder = Folder::new();
    let trace = folder.trace(&trace(10, |_, i| 500 + i));
    for wrong in [
        &["scheme", "--scheme", "ps2", "--loop", "5"][..],
        &["scheme", "--scheme", "ps9"],
        &["scheme", "--scheme", "ps2", "--operation", "7"],
        &["scheme", "--scheme", "ps4", "--timing", "root"],
        &["scheme", "--loop", "5"],
        &["enough", "--stopping", "9,8"],
        &["enough", "--stopping", "9"],
        &["enough", "--stopping", "1,100000"],
        &["enough", "--confidence", "1"],
        &["enough", "--runs", "/nonexistent"],
        &["metrics"],
        &["work", "--work", "5"],
    ] {
        let ran = mpitrace(&[&["benchmark"], &wrong[..1], &[&trace], &wrong[1..]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{wrong:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{wrong:?}: {}", ran.stderr);
    }
}
