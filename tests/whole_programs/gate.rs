//! `mpitrace gate`: a program against its baseline, each run several times.

use crate::support::companion;
use crate::support::{Case, On, Outcome, Test, binaries};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

pub const TESTS: &[Test] = &[
    Test::new("a_program_that_takes_several_times_as_long_is_red", slower).on(On::Any),
    Test::new("traces_are_a_baseline_too_and_few_runs_decide_nothing", traces).on(On::Any),
    Test::new("a_run_that_fails_decides_nothing", failed).on(On::Any),
];

/// Writes the command of the baseline.
fn baseline(case: &Case, words: &[OsString]) {
    let folder = case.folder.join("baseline");
    fs::create_dir_all(&folder).expect("a folder");
    let lines: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    fs::write(folder.join("command"), lines.join("\n")).expect("a file");
}

/// The words of a gate up to the launcher.
fn words(case: &Case, runs: &str) -> Vec<OsString> {
    let cache = format!("XDG_CACHE_HOME={}", case.folder.join("cache").display());
    let mut words: Vec<OsString> = vec!["env".into(), cache.into(), binaries::companion().into(), "gate".into()];
    words.extend(["--baseline".into(), case.folder.join("baseline").into(), "--runs".into(), runs.into()]);
    words.extend(["-o".into(), case.folder.join("gate").into(), "--json".into(), "--".into()]);
    words
}

fn gate(case: &Case, runs: &str, argument: &str) -> Outcome {
    case.launch(2, "repeat.c").arg(argument).run_under(&words(case, runs))
}

fn json(outcome: &Outcome) -> Value {
    // What the program prints is elsewhere.
    serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", outcome.stdout, outcome.stderr))
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join("gate").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn slower(case: &Case) {
    baseline(case, &case.launch(2, "repeat.c").arg("10").command(&case.folder.join("unused.mpitrace")));
    // Seconds of steps that sleep against next to nothing, whatever else the machine does.
    let outcome = case.launch(2, "healthy_slow.c").arg("sleeping").arg("3").run_under(&words(case, "6"));
    let found = json(&outcome);
    assert_eq!(
        (outcome.code, &found["decision"], &found["interleaved"]),
        (1, &"slower".into(), &true.into()),
        "{found}"
    );
    assert_eq!((&found["runs"], &found["rows"][0]["key"]), (&serde_json::json!([6, 6]), &"job".into()));
    assert!(found["difference"].as_f64() > Some(0.05), "{found}");
    // One number for one change in all of them, and what changed.
    let (sentence, change) = (found["sentence"].as_str().expect("a sentence"), &found["difference"]);
    assert!(sentence.starts_with("slower: the job takes ") && sentence.contains(" slept"), "{sentence}");
    assert_eq!((&found["rows"][0]["change"], &found["job"]["share"]), (change, change));
    assert!(read(&case.folder, "junit.xml").contains("<failure type=\"slower\""));
    let bencher: Value = serde_json::from_str(&read(&case.folder, "bmf.json")).expect("JSON");
    assert_eq!(bencher["job"]["latency"]["value"], found["rows"][0]["now_ns"]);
    assert_eq!(bencher["job"]["change"]["value"], *change);
    assert!(read(&case.folder, "summary.md").starts_with("### mpitrace gate: slower\n"));
    let kept: Value = serde_json::from_str(&read(&case.folder, "gate.json")).expect("JSON");
    assert_eq!(kept["sentence"], found["sentence"]);
    // The folder is there now.
    let again = gate(case, "6", "10");
    assert_eq!((again.code, again.stderr.lines().count()), (2, 1), "{}", again.stderr);
}

fn traces(case: &Case) {
    let folder = case.folder.join("baseline");
    fs::create_dir_all(&folder).expect("a folder");
    for number in 0..2 {
        let trace = case.launch(2, "repeat.c").arg("100").trace().run().trace;
        fs::copy(&trace.path, folder.join(format!("{number}.mpitrace"))).expect("a copy");
    }
    let outcome = gate(case, "2", "100");
    let found = json(&outcome);
    assert_eq!((outcome.code, &found["decision"]), (3, &"not-decided".into()), "{found}");
    assert_eq!((&found["interleaved"], &found["visible"]), (&false.into(), &Value::Null));
    assert!(found["sentence"].as_str().is_some_and(|said| said.contains("; make more runs")), "{found}");
    assert!(read(&case.folder, "junit.xml").contains("<skipped "));
}

fn failed(case: &Case) {
    baseline(case, &case.launch(2, "repeat.c").arg("10").command(&case.folder.join("unused.mpitrace")));
    let mut before = words(case, "2");
    before.retain(|word| word != "--json");
    let outcome = case.launch(2, "repeat.c").arg("10").arg("7").run_under(&before);
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(
        outcome.stderr.lines().last().is_some_and(|line| line.contains("nothing is compared")),
        "{}",
        outcome.stderr
    );
    let missing = companion::mpitrace(&["gate", "--baseline", "/nonexistent", "--", "true"]);
    companion::assert_refused(&missing, "a baseline that is not there");
}
