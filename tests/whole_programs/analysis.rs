//! Why repetitions are slow, and how a benchmark is synchronised: of programs that were made so.

use crate::support::companion;
use crate::support::{Case, On, Outcome, Test, tiers};
use serde_json::Value;
use std::ffi::OsStr;

/// One library of each family.
const FAMILIES: On = On::Only(&["ompi4", "mpich4"]);

pub const TESTS: &[Test] = &[
    Test::new("names_the_rank_that_comes_late", late).on(FAMILIES),
    Test::new("shows_calls_that_do_not_belong_together_first", mismatch),
    Test::new("tells_how_a_benchmark_synchronises_its_ranks", synchronised).on(FAMILIES).second_tier(),
];

/// The companion's diagnosis of a trace.
#[track_caller]
fn told(outcome: &Outcome, words: &[&str]) -> Value {
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let path: &OsStr = outcome.trace.path.as_ref();
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).chain([path]).collect();
    let finished = companion::mpitrace(&words);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    companion::json(&finished)
}

/// The causes of the Allreduce.
#[track_caller]
fn of_allreduce(told: &Value) -> &Value {
    let operations = told.as_array().expect("a list of operations");
    operations.iter().find(|operation| operation["function"] == "MPI_Allreduce").expect("an Allreduce")
}

/// Rank 1 is at something else for 150 ms before every tenth call. That this is the first cause is proven in simulated
/// time, in the tests of the causes; here, that a real trace holds it and it is a cause. On an idle machine it must be
/// the first; on a busy one what keeps ranks from their processors may be larger.
fn late(case: &Case) {
    let outcome = case.launch(2, "late.c").trace().run();
    let told = told(&outcome, &["diagnose", "--json"]);
    let mut rows = outcome.trace.dump(&["--rank", "1"]);
    rows.retain(|row| row.function == "MPI_Allreduce");
    rows.sort_by_key(|row| row.repetition);
    for pair in rows.windows(2).filter(|pair| pair[1].repetition % 10 == 9) {
        let between = pair[1].enter_ns - pair[0].exit_ns.expect("a call that returned");
        // Nobody sleeps for less than he asks for; times are divided by a rounded frequency.
        assert!(between > 149.9e6, "{between} ns before {:?}", pair[1]);
    }
    let operation = of_allreduce(&told);
    lost_to_rank_1(&outcome);
    // It sleeps, and so was off its processor where that is seen.
    let of_rank_1 =
        |cause: &&Value| ["late-rank", "interrupted"].map(Value::from).contains(&cause["kind"]) && cause["rank"] == 1;
    let causes = operation["causes"].as_array().expect("a list");
    let late: f64 = causes.iter().filter(of_rank_1).filter_map(|cause| cause["seconds"].as_f64()).sum();
    assert!(late > 1.0, "20 sleeps of 150 ms, of which a third is left on a busy machine: {operation:#}");
    if tiers::is_idle() {
        assert!(of_rank_1(&&causes[0]), "{operation:#}");
    }
}

/// The ranks' loss is due to rank 1: 20 sleeps of 150 ms. A third of that is left also where the other rank is
/// kept from its processor meanwhile.
#[track_caller]
fn lost_to_rank_1(outcome: &Outcome) {
    let told = told(outcome, &["summary", "--json"]);
    let late = |loss: &&Value| loss["kind"] == "late-rank" && loss["rank"] == 1;
    let losses = told["losses"].as_array().expect("a list");
    let seconds: f64 = losses.iter().filter(late).filter_map(|loss| loss["seconds"].as_f64()).sum();
    assert!(seconds > 1.0, "{told:#}");
    let number = |key: &str| told[key].as_f64().unwrap_or(f64::NAN);
    let parts = ["waiting_s", "interrupted_s", "perturbed_s", "communication_s"].map(number);
    let sum: f64 = parts.iter().sum();
    assert!((sum / number("collectives_s") - 1.0).abs() < 1e-9, "the parts add up: {told:#}");
}

/// An operator that differs is found at each of its calls; the program, which ends well, is not changed.
fn mismatch(case: &Case) {
    let alone = case.launch(2, "mismatch.c").run();
    let outcome = case.launch(2, "mismatch.c").trace().run();
    assert_eq!((outcome.code, &outcome.stdout), (alone.code, &alone.stdout), "{}", outcome.stderr);
    let path: &OsStr = outcome.trace.path.as_ref();
    for command in ["info", "summary"] {
        let finished = companion::mpitrace(&[command.as_ref(), "--json".as_ref(), path]);
        assert_eq!(finished.code, 1, "{}", finished.stderr);
        let told = companion::json(&finished);
        let found = told["mismatches"].as_array().expect("a list");
        let places: Vec<u64> = found.iter().filter_map(|mismatch| mismatch["sequence"].as_u64()).collect();
        assert_eq!(places, [18, 38, 58, 78, 98], "{told:#}");
        assert!(found.iter().all(|mismatch| mismatch["kind"] == "operator"), "{told:#}");
        assert_eq!(found[0]["calls"][0]["ranks"], serde_json::json!([0]));
        assert_eq!(found[0]["calls"][1]["reduction"], "MPI_MAX");
        let finished = companion::mpitrace(&[command.as_ref(), path]);
        // The summary has one line for all of them.
        let others = if command == "summary" { " (and 4 more)" } else { "" };
        let expected = format!(
            "MISMATCH (operator) at call 18 of MPI_COMM_WORLD: rank 0 MPI_Allreduce of 4 bytes with MPI_SUM, \
             rank 1 MPI_Allreduce of 4 bytes with MPI_MAX{others}"
        );
        assert_eq!(finished.stdout.lines().next(), Some(&*expected));
    }
}

/// The calls and messages show how the ranks are synchronised, but for a time that they wait for: on a
/// busy machine that cannot be told from none. With `TESTS_IDLE=1`, where nothing else runs, it must be, too; in
/// simulated time the tests of the check prove it.
fn synchronised(case: &Case) {
    let methods = [
        // The program's, what it is, and what it may look like on a busy machine.
        ("none", ["none", "none"]),
        ("barrier", ["barrier", "round-time"]),
        ("double", ["double-barrier", "round-time"]),
        ("dissemination", ["dissemination", "window"]),
        ("window", ["window", "none"]),
        ("round", ["round-time", "barrier"]),
    ];
    for (method, expected) in methods {
        let launch = case.launch(2, "synchronised.c").arg(method).trace().set("MPITRACE_EVENTS", "messages");
        let told = told(&launch.run(), &["benchmark", "synchronisation", "--json"]);
        let check = &of_allreduce(&told)["synchronisation_check"];
        let found = check["synchronisation"].as_str().unwrap_or_default();
        let expected = if tiers::is_idle() { &expected[..1] } else { &expected[..] };
        assert!(expected.contains(&found), "{method}: {check:#}");
        assert_eq!(check["share"], 1.0, "calls and messages are before each: {method}: {:#}", check["sentences"]);
        let spread = |key: &str| check[key]["median_ns"].as_f64();
        assert!(spread("start").is_some_and(|apart| apart >= 0.0), "{method}: {check:#}");
        let has_barrier = ["barrier", "double", "round"].contains(&method);
        assert_eq!(spread("barrier_exit").is_some(), has_barrier, "{method}");
        if method == "window" && found == "window" {
            // What lies on a grid at all lies on this one, as close as one has to lie: to a hundredth of a window.
            let width = check["window"]["width_ns"].as_f64().expect("a width");
            assert!((width / 5e6 - 1.0).abs() < 1e-2, "{width}");
        }
    }
}
