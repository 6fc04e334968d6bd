//! `mpitrace benchmark metrics`.

use mpitrace_testing::synthetic::SyntheticRank;
use serde_json::json;

use crate::support::{Folder, mpitrace, plain};

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
fn the_metrics_are_shown_by_repetition() {
    let folder = Folder::new();
    let trace = folder.trace(&plain());
    let of = |options: &[&str]| mpitrace(&[&["benchmark", "metrics", "--operation", "0", &trace], options].concat());
    let rows = of(&["--json"]).json();
    assert_eq!(rows.as_array().unwrap().len(), 60);
    // 20 repetitions of 50 µs, then 2 µs: the cumulative median is in the middle at 39, the running one follows at 20.
    let expected = json!({
        "repetition": 20, "category": "good", "run_time_ns": 2000.0,
        "cumulative_mean_ns": (20.0 * 50_000.0 + 2000.0) / 21.0,
        "cumulative_median_ns": 50_000.0, "cumulative_minimum_ns": 2000.0,
        "running_mean_ns": (10.0 * 50_000.0 + 11.0 * 2000.0) / 21.0, "running_median_ns": 2000.0,
        "cumulative_mean_difference_ns": (20.0 * 50_000.0 + 2000.0) / 21.0 - 50_000.0,
        "cumulative_median_difference_ns": 0.0, "cumulative_minimum_difference_ns": -48_000.0,
        "running_mean_difference_ns": -48_000.0 / 21.0, "running_median_difference_ns": -48_000.0
    });
    let close = |key: &str| (rows[20][key].as_f64().unwrap() - expected[key].as_f64().unwrap()).abs() < 1e-9;
    for (key, value) in expected.as_object().unwrap() {
        assert!(value == &rows[20][key] || close(key), "{key}: {} is not {value}", rows[20][key]);
    }
    assert_eq!(rows[20].as_object().unwrap().len(), expected.as_object().unwrap().len());
    assert_eq!(rows[39]["cumulative_median_ns"], 26_000.0);

    let csv = of(&["--csv", "--window", "3"]).stdout;
    assert_eq!(csv.lines().count(), 61);
    assert_eq!(csv.lines().nth(1).unwrap(), "0,first,50000,50000,50000,50000,50000,50000,0,0,0,0,0");
    assert_eq!(csv.lines().nth(22).unwrap().split(',').nth(6), Some("2000"));

    let table = of(&[]).stdout;
    let last: Vec<&str> = table.lines().last().unwrap().split_whitespace().collect();
    assert_eq!(last[..3], ["59", "good", "2000.0"]);
    assert_eq!(last.len(), 13);
}

#[test]
fn metrics_after_a_ring_say_where_they_begin() {
    let folder = Folder::new();
    let ran = mpitrace(&["benchmark", "metrics", "--operation", "0", "--csv", &folder.trace(&ring())]);
    assert_eq!(ran.code, 0);
    assert_eq!(ran.stderr, "mpitrace: the first repetition that was kept is 100: what is cumulative begins there\n");
    assert!(ran.stdout.lines().nth(1).unwrap().starts_with("100,good,"));
}

#[test]
fn a_window_has_a_middle() {
    let folder = Folder::new();
    let ran = mpitrace(&["benchmark", "metrics", "--operation", "0", "--window", "20", &folder.trace(&plain())]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert_eq!(ran.stderr, "mpitrace: a window of 20 has no repetition in its middle: it must be odd\n");
}
