//! Why repetitions are slow: of programs that were made so.

use crate::support::companion;
use crate::support::{Case, On, Outcome, Test};
use serde_json::Value;
use std::ffi::OsStr;

/// One library of each family.
const FAMILIES: On = On::Only(&["ompi4", "mpich4"]);

pub const TESTS: &[Test] = &[Test::new("names_the_rank_that_comes_late", late).on(FAMILIES).alone()];

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
