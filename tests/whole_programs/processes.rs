//! Processes that take the processors of ranks: `MPITRACE_PROCESSES=1 mpitrace run`.

use crate::support::binaries::companion;
use crate::support::{Case, On, Test, build, companion as tool};
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

pub const TESTS: &[Test] = &[
    Test::new("on_one_processor_of_the_same_job_are_said_to_be_so", shared).on(On::Only(&["ompi4", "mpich4"])),
    Test::new("that_take_a_rank_s_processor_are_named_and_no_others", hogs).on(On::Only(&["mpich4"])).second_tier(),
];

/// How often a process takes a processor (`HOGS`).
const HOGS: u32 = 3;
/// Tries of ranks that share a processor with whatever else runs here.
const TRIES: usize = 3;
/// The share of them that has to be named.
const NAMED: f64 = 0.95;

/// hogged.c with these arguments, and what `summary` has of the processes.
fn run(case: &Case, arguments: &[&str], before: &[&str], output: &Path) -> (Value, String) {
    let mut words: Vec<OsString> = before.iter().map(OsString::from).collect();
    words.extend(["env".into(), "MPITRACE_PROCESSES=1".into()]);
    words.extend([companion().into(), "run".into(), "-o".into(), output.into(), "--".into()]);
    let launch = arguments.iter().fold(case.launch(2, "hogged.c"), |launch, argument| launch.arg(argument));
    let outcome = launch.run_under(&words);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let shown = tool::mpitrace(&["summary".as_ref(), output.as_os_str(), "--json".as_ref()]);
    let lines = tool::mpitrace(&["summary".as_ref(), output.as_os_str()]).stdout;
    (tool::json(&shown)["processes"].clone(), lines)
}

/// Both ranks on one processor: what each loses the other has taken. What else runs there may take more than that.
fn shared(case: &Case) {
    let mut found = Vec::new();
    for number in 0..TRIES {
        let output = case.folder.join(format!("{number}.mpitrace"));
        let (processes, lines) = run(case, &["6"], &["taskset", "-c", "0"], &output);
        // Each of the two is the other's.
        let is_other = |of_rank: &Value| {
            let takers = of_rank["processes"].as_array().expect("processes").iter();
            takers.filter(|taker| !taker["rank"].is_null()).all(|taker| taker["rank"] != of_rank["rank"])
        };
        assert!(processes.as_array().expect("ranks").iter().all(is_other), "{processes:#}");
        let says = |line: &str| {
            line.starts_with("Ranks 0 and 1 share a processor (")
                && line.ends_with(" lost): bind each to its own (mpirun --bind-to core).")
        };
        if lines.lines().any(says) {
            return;
        }
        found.push((processes, lines));
    }
    panic!("{found:#?}");
}

/// Each time another process takes the processor of one of the ranks, then none does.
fn hogs(case: &Case) {
    let count = std::env::var("HOGS").ok().and_then(|count| count.parse().ok()).unwrap_or(HOGS);
    let hog = build::program(case.mpi, "hogged.c");
    let (mut named, mut wrong) = (0, 0);
    for number in 0..count {
        let (hogged, output) = (number % 2, case.folder.join(format!("{number}.mpitrace")));
        let mut process = Command::new(&hog).args(["hog", &hogged.to_string(), "60"]).spawn().expect("a hog");
        let (_, lines) = run(case, &["6", "bound"], &[], &output);
        process.kill().expect("it runs, or has ended");
        process.wait().expect("its end");
        let sentence = lines.lines().find(|line| line.contains("mostly by")).unwrap_or_default();
        let is_right = sentence.starts_with(&format!("Rank {hogged} was preempted")) && sentence.contains("`backup`");
        named += u32::from(is_right);
        wrong += u32::from(!is_right && !sentence.is_empty());
        let (_, lines) = run(case, &["3", "bound"], &[], &case.folder.join(format!("{number}-none.mpitrace")));
        wrong += u32::from(lines.contains("`backup`"));
    }
    println!("{named} of {count} named, {wrong} wrong names");
    assert!(f64::from(named) >= (NAMED * f64::from(count)).floor() && wrong == 0, "{named} of {count}, {wrong} wrong");
}
