//! `mpitrace compare` of two versions of a program that differ in one thing: the first sentence names it.

use crate::support::{Case, On, Test, binaries, build, companion};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub const TESTS: &[Test] = &[
    Test::new("forty_times_the_calls_are_named_with_their_line_and_are_not_faster", calls),
    Test::new("a_rank_that_became_slower_is_named_as_the_one_that_others_wait_for", slow),
    Test::new("a_changed_algorithm_is_named_with_its_operation", algorithm).on(On::Only(&["ompi4", "ompi5"])),
    Test::new("a_changed_compiler_flag_is_named_with_the_function_that_takes_longer", flag).on(On::Any),
    Test::new("jobs_of_different_sizes_are_compared_as_a_whole", sizes).on(On::Any),
];

/// The first line of `compare` of two traces, and its JSON.
fn compared(a: &Path, b: &Path) -> (String, Value) {
    let words = |json: &[&str]| -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["compare".into(), "--a".into(), a.into(), "--b".into(), b.into()];
        words.extend(json.iter().map(OsString::from));
        words
    };
    let (text, json) = (companion::mpitrace(&words(&[])), companion::mpitrace(&words(&["--json"])));
    assert!(matches!((text.code, json.code), (0 | 1, 0 | 1)), "{}{}", text.stderr, json.stderr);
    let found: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_adds_up(&found["job"]);
    (text.stdout.lines().next().unwrap_or_default().to_owned(), found)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

/// Parts and remainder are the difference of the job, and the remainder is small.
fn assert_adds_up(job: &Value) {
    let parts: f64 = job["parts"].as_array().expect("parts").iter().map(|part| number(&part["change_s"])).sum();
    let (change, rest) = (number(&job["change_s"]), number(&job["remainder_s"]));
    assert!((parts + rest - change).abs() < 1e-9, "{job}");
    assert!(rest.abs() < 0.2 * change.abs() + 0.02, "{job}");
}

/// The trace of a version of versions.c on two ranks.
fn version(case: &Case, arguments: &[&str], variables: &[(&str, &str)]) -> PathBuf {
    let mut launch = case.launch(2, "versions.c").trace().set("MPITRACE_CALLSITE", "1");
    for (name, value) in variables {
        launch = launch.set(name, value);
    }
    for argument in arguments {
        launch = launch.arg(*argument);
    }
    let outcome = launch.run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.trace.path.clone()
}

/// The first part of this kind for which more holds.
fn part(found: &Value, kind: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    let mut parts = found["job"]["parts"].as_array().expect("parts").iter();
    let found_part = parts.find(|part| part["kind"] == kind && is_it(part));
    found_part.cloned().unwrap_or_else(|| panic!("no {kind} in {}", found["job"]))
}

fn calls(case: &Case) {
    // On a busy machine one of a hundred calls may take as long as thousands: then another pair of runs tells.
    let mut effects = (0..4).map(|_| one_pair(case));
    assert!(effects.any(|effect| effect > 1.0), "all of forty times the calls take longer");
}

/// The effect on all calls of the operation that the second version calls forty times as often.
fn one_pair(case: &Case) -> f64 {
    let [a, b] = ["25", "1000"].map(|calls| version(case, &["calls", "4", calls], &[]));
    let (sentence, found) = compared(&a, &b);
    // Beside other work the first version may take as long as forty times the calls.
    let way = if number(&found["job"]["change_s"]) > 0.0 { "longer" } else { "less" };
    assert!(sentence.contains("B takes ") && sentence.contains(way), "{sentence}");
    let wanted = " in MPI_Allreduce below smooth (versions.c:19; 4000 calls in place of 100";
    assert!(found["job"]["sentence"].as_str().is_some_and(|said| said.contains(wanted)), "{}", found["job"]);
    let one = part(&found, "operation", |part| part["operation_key"] == "MPI_Allreduce/65536/2/-");
    assert_eq!((number(&one["a"]["calls"]), number(&one["b"]["calls"])), (100.0, 4000.0));
    let rows = found["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["operation_key"] == "MPI_Allreduce/65536/2/-").expect("the operation");
    // Whatever a call takes: all of them take longer.
    assert_eq!((&row["basis"], row["verdict"] != "b"), (&"total".into(), true), "{row}");
    assert_eq!(number(&row["b"]["calls"]), 4000.0, "{row}");
    number(&row["effect"])
}

fn slow(case: &Case) {
    let [a, b] = ["2", "30"].map(|ms| version(case, &["slow", "40", ms], &[]));
    let (sentence, found) = compared(&a, &b);
    assert!(sentence.contains("B takes ") && found["job"]["sentence"].to_string().contains("rank 1"), "{sentence}");
    // Half of 40 x 28 ms, whatever else the ranks wait for on a busy machine.
    let of_rank_1 = |kind: &str| -> f64 {
        let parts = found["job"]["parts"].as_array().expect("parts").iter();
        parts.filter(|part| part["kind"] == kind && part["rank"] == 1).map(|part| number(&part["change_s"])).sum()
    };
    assert!(of_rank_1("waiting") > 0.3, "{}", found["job"]);
    assert!((of_rank_1("computing") - 0.56).abs() < 0.1, "{}", found["job"]);
}

fn algorithm(case: &Case) {
    let dynamic = |algorithm: &'static str| {
        [
            ("OMPI_MCA_coll", "^han,adapt,hcoll,sm,xhc,acoll"),
            ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
            ("OMPI_MCA_coll_tuned_bcast_algorithm", algorithm),
            ("OMPI_MCA_coll_tuned_bcast_algorithm_segmentsize", "64"),
        ]
    };
    let [a, b] = ["1", "3"].map(|algorithm| version(case, &["broadcast", "60"], &dynamic(algorithm)));
    let (_, found) = compared(&a, &b);
    let said = found["job"]["sentence"].as_str().expect("a sentence");
    assert!(said.contains(" in MPI_Bcast below main (versions.c:"), "{said}");
    assert!(said.contains("algorithm pipeline in place of basic_linear"), "{said}");
}

fn flag(case: &Case) {
    let trace = |level: &str| {
        let output = case.folder.join(format!("x{level}.mpitrace"));
        let mut words: Vec<OsString> =
            vec![binaries::companion().into(), "run".into(), "--sample".into(), "200".into()];
        words.extend(["-o".into(), output.clone().into(), "--".into()]);
        let program = build::with_option(case.mpi, "versions.c", level);
        let launch = case.launch(2, program.to_str().expect("UTF-8")).arg("kernel").arg("300");
        let outcome = launch.run_under(&words);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        output
    };
    let [a, b] = ["-O2", "-O0"].map(trace);
    let (_, found) = compared(&a, &b);
    let one = part(&found, "function", |_| true);
    // The function that relax calls for each element is a function of its own at -O0: either may take more.
    let kernel = ["computing in relax", "computing in weighted"];
    let name = one["name"].as_str().expect("a name");
    assert!(kernel.iter().any(|function| name.starts_with(function)), "{one}");
    assert!(number(&one["change_s"]) > 0.0, "{one}");
    // What a busy machine took from the ranks comes behind it.
    let said = found["job"]["sentence"].as_str().expect("a sentence");
    let parts = found["job"]["parts"].as_array().expect("parts");
    let size = |value: &Value| number(&value["change_s"]).abs();
    let is_small = size(&one) < 0.1 * size(&parts[0]).max(size(&found["job"]));
    let place = |words: &str| said.find(words).unwrap_or(usize::MAX);
    assert!(place(name) < place("preempted outside of calls") || is_small, "{said}");
    let rows = found["rows"].as_array().expect("rows");
    let factors = rows[0]["factors"].as_array().expect("factors");
    assert!(factors.iter().any(|factor| factor["name"] == "program_flags"), "{factors:?}");
}

fn sizes(case: &Case) {
    let trace = |ranks: u32| case.launch(ranks, "versions.c").trace().arg("calls").arg("5").arg("10").run().trace.path;
    let (sentence, found) = compared(&trace(1), &trace(2));
    assert!(sentence.contains("B takes "), "{sentence}");
    assert_eq!(found["rows"][0]["operation_key"], "job");
    assert_eq!(found["job"]["ranks"], serde_json::json!([1, 2]));
    // The operation on all ranks is the same one.
    let one = part(&found, "operation", |part| part["operation_key"] == "MPI_Allreduce/65536/2/-");
    assert_eq!((&one["state"], number(&one["a"]["calls"])), (&"both".into(), 50.0));
}
