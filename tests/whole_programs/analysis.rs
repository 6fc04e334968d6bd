//! Why repetitions are slow, and how a benchmark is synchronised: of programs that were made so.

use crate::support::companion;
use crate::support::{Case, On, Outcome, Test};
use serde_json::Value;
use std::ffi::OsStr;

/// One library of each family.
const FAMILIES: On = On::Only(&["ompi4", "mpich4"]);

pub const TESTS: &[Test] = &[
    Test::new("names_the_rank_that_comes_late", late).on(FAMILIES).alone(),
    Test::new("tells_how_a_benchmark_synchronises_its_ranks", synchronised).on(FAMILIES).alone(),
];

/// What the companion says of a trace.
#[track_caller]
fn told(outcome: &Outcome, words: &[&str]) -> Value {
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let path: &OsStr = outcome.trace.path.as_ref();
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).chain([path]).collect();
    let finished = companion::mpitrace(&words);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error} in {}", finished.stdout))
}

/// What it says of the Allreduce.
#[track_caller]
fn of_allreduce(told: &Value) -> &Value {
    let operations = told.as_array().expect("a list of operations");
    operations.iter().find(|operation| operation["function"] == "MPI_Allreduce").expect("an Allreduce")
}

fn late(case: &Case) {
    let outcome = case.launch(2, "late.c").trace().run();
    let told = told(&outcome, &["diagnose", "--json"]);
    let operation = of_allreduce(&told);
    let sentence = operation["sentences"][0].as_str().expect("a sentence");
    assert!(sentence.starts_with("rank 1 arrives late in the "), "{:#}", operation["sentences"]);
    let finding = &operation["findings"][0];
    assert_eq!((&finding["quantity"], &finding["rank"]), (&"lateness".into(), &1.into()));
    let metric = &operation["metrics"][finding["metric"].as_u64().expect("an index") as usize];
    let separation = &metric["separations"][finding["group"].as_u64().expect("an index") as usize];
    let strong = |key: &str, least: f64| separation[key].as_f64().is_some_and(|found| found > least);
    assert!(strong("delta", 0.33) && strong("median", 1e6), "{separation:#}");
}

fn synchronised(case: &Case) {
    let expected = ["none", "barrier", "double-barrier", "dissemination", "window", "round-time"];
    let methods = ["none", "barrier", "double", "dissemination", "window", "round"];
    for (method, expected) in methods.into_iter().zip(expected) {
        // Where something else takes a processor for most of a run, its ranks are synchronised by nothing.
        let audit = (0..5).find_map(|_| {
            let launch = case.launch(2, "synchronised.c").arg(method).trace().set("MPITRACE_EVENTS", "messages");
            let told = told(&launch.run(), &["stats", "--audit", "--json"]);
            let audit = of_allreduce(&told)["audit"].clone();
            (audit["synchronisation"] == expected).then_some(audit)
        });
        let audit = audit.unwrap_or_else(|| panic!("{method} was not seen in five runs"));
        assert!(audit["share"].as_f64().is_some_and(|share| share > 0.9), "{method}: {:#}", audit["sentences"]);
        let spread = |key: &str| audit[key]["median_ns"].as_f64();
        assert!(spread("start").is_some_and(|apart| (0.0..1e9).contains(&apart)), "{method}: {audit:#}");
        let has_barrier = ["barrier", "double", "round"].contains(&method);
        assert_eq!(spread("barrier_exit").is_some(), has_barrier, "{method}");
        if method == "window" {
            let width = audit["window"]["width_ns"].as_f64().expect("a width");
            assert!((width / 5e6 - 1.0).abs() < 1e-3, "{width}");
        }
    }
}
