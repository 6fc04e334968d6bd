//! `mpitrace run --runs`: several runs of one job or of several, and their comparison.

use crate::support::companion::{self, assert_refused, mpitrace};
use crate::support::{Case, On, Test, Trace, binaries};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

pub const TESTS: &[Test] = &[
    Test::new("runs_leave_a_trace_each_and_the_first_exit_code_that_is_not_0", each),
    Test::new("two_jobs_are_shuffled_and_then_compared", shuffled).on(On::Any),
    Test::new("a_trace_that_is_there_already_is_not_run_into", there).on(On::Any),
    Test::new("a_failed_run_does_not_keep_the_others_from_being_made", failed).on(On::Any),
    Test::new("a_job_that_cannot_start_is_tried_once", not_started).on(On::Any),
    Test::new("a_signal_ends_the_runs", signal).on(On::Any),
];

/// `mpitrace run` with these options, up to the command.
fn run(options: &[&str], output: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![binaries::companion().into(), "run".into()];
    words.extend(options.iter().map(OsString::from));
    words.extend(["-o".into(), output.into(), "--".into()]);
    words
}

fn each(case: &Case) {
    let output = case.folder.join("x.mpitrace");
    let done = case.launch(2, "repeat.c").arg("12").arg("7").run_under(&run(&["--runs", "3"], &output));
    let alone = case.launch(2, "repeat.c").arg("12").arg("7").run();
    assert_eq!(done.code, alone.code, "{}", done.stderr);
    assert_eq!(done.stdout.lines().count(), 3 * alone.stdout.lines().count());
    for number in 1..=3 {
        let info = Trace::new(case.folder.join(format!("x.{number}.mpitrace"))).info();
        assert_eq!((info.complete, info.only("MPI_Allreduce").repetitions), (true, 12));
    }
    assert_eq!(done.lines_with("mpitrace: run ").len(), 3, "{}", done.stderr);
    assert_eq!(done.lines_with("3 traces in ").len(), 1, "{}", done.stderr);
}

fn shuffled(case: &Case) {
    let output = case.folder.join("x.mpitrace");
    let mut before = run(&["--runs", "4", "--shuffle"], &output);
    before.extend(case.launch(2, "repeat.c").arg("100").command(&output));
    before.push("--and".into());
    let done = case.launch(2, "repeat.c").arg("100").run_under(&before);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let labels = done.lines_with("mpitrace: run ").into_iter();
    let mut labels: Vec<&str> = labels.map(|line| line.rsplit(' ').next().expect("a label")).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["a.1", "a.2", "a.3", "a.4", "b.1", "b.2", "b.3", "b.4"]);

    let of = |job: char| (1..=4).map(move |number| format!("x.{job}.{number}.mpitrace"));
    let mut words: Vec<OsString> = vec!["compare".into(), "--json".into(), "--a".into()];
    words.extend(of('a').map(|name| case.folder.join(name).into()));
    words.push("--b".into());
    words.extend(of('b').map(|name| case.folder.join(name).into()));
    let compared = mpitrace(&words);
    let list = companion::json(&compared);
    let keys: Vec<_> = (0..3).map(|row| list[row]["operation_key"].as_str().expect("a key")).collect();
    assert_eq!((list.as_array().map(Vec::len), &keys[..2]), (Some(3), &["job", "MPI"][..]));
    let one = &list[2];
    assert_eq!(one["operation_key"], "MPI_Allreduce/8/2/-");
    for side in ["a", "b"] {
        let left_out = &one[side]["left_out"];
        let count = |category: &str| left_out[category].as_u64().expect("a number");
        let all =
            one[side]["repetitions"].as_u64().expect("a number") + count("first") + count("warmup") + count("outlier");
        assert_eq!((&one[side]["runs"], all, count("first")), (&Value::from(4), 400, 4));
        assert!(one[side]["median_ns"].as_f64() > Some(0.0));
    }
    // B is called slower where it is so.
    assert!(one["p"].as_f64().is_some_and(|p| (0.0..=1.0).contains(&p)), "{one}");
    assert_eq!(compared.code, i32::from(one["verdict"] == "a"), "{one}");
}

fn there(case: &Case) {
    let output = case.folder.join("x.mpitrace");
    std::fs::write(case.folder.join("x.2.mpitrace"), "precious").expect("a file");
    let mut words = run(&["--runs", "2"], &output);
    words.extend(case.launch(2, "repeat.c").command(&output));
    let refused = mpitrace(&words[1..]);
    assert_refused(&refused, "a trace that is there");
    assert!(refused.stderr.contains("x.2.mpitrace: already exists"), "{}", refused.stderr);
    assert!(!case.folder.join("x.1.mpitrace").exists());
    for wrong in [&["--runs", "0"][..], &["--seed", "3"], &["--runs", "2"]] {
        assert_refused(&mpitrace(&[&["run"], wrong, &["--", "--and", "true"]].concat()), &format!("{wrong:?}"));
    }
}

fn failed(case: &Case) {
    let mut words = run(&["--runs", "2"], &case.folder.join("x.mpitrace"));
    words.extend(["true", "--and", "sh", "-c", "exit 5", "--and", "sh", "-c", "exit 6"].map(OsString::from));
    let finished = mpitrace(&words[1..]);
    assert_eq!(finished.code, 5);
    let expected = "mpitrace: runs with another exit code than 0: b.1 (5), c.1 (6), b.2 (5), c.2 (6)\n";
    assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    assert!(finished.stderr.contains("runs without a trace: a.1, b.1, c.1, a.2, b.2, c.2"), "{}", finished.stderr);
}

fn not_started(case: &Case) {
    let mut words = run(&["--runs", "5"], &case.folder.join("x.mpitrace"));
    words.push("/nonexistent/program".into());
    let finished = mpitrace(&words[1..]);
    assert_eq!(finished.code, 127);
    assert_eq!(finished.stderr.matches("cannot start").count(), 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("4 of 5 runs were not made"), "{}", finished.stderr);
}

fn signal(case: &Case) {
    let starts = case.folder.join("starts");
    let mut words = run(&["--runs", "50"], &case.folder.join("x.mpitrace"));
    words.extend(["sh", "-c", "echo >>\"$0\"; exec sleep 100"].map(OsString::from));
    words.push(starts.clone().into());
    let mut child = Command::new(&words[0]).args(&words[1..]).stderr(Stdio::piped()).spawn().expect("mpitrace");
    // Not before the job has been started and signals are handed on.
    let started = || fs::read(&starts).map_or(0, |lines| lines.len());
    while started() == 0 && child.try_wait().expect("its state").is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // SAFETY: kill takes two integers; the process is a child that has not been waited for yet.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    let code = child.wait().expect("its end").code();
    assert_eq!(code, Some(128 + libc::SIGTERM));
    assert_eq!(started(), 1, "the runs went on");
}
