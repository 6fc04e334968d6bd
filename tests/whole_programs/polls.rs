//! Programs that test requests or look for messages again and again: they wait for what is polled, but for what they
//! compute between the polls.

use std::ffi::OsString;

use serde_json::Value;

use crate::support::{Case, Test, binaries, companion, litter};

pub const TESTS: &[Test] = &[
    Test::new("without_work_are_waiting", waiting),
    Test::new("with_a_sleep_between_them_are_waiting", sleeping),
    Test::new("with_work_between_them_are_computing", computing),
    Test::new("computing_behind_a_row_is_not_in_it", left),
    Test::new("for_ever_are_told_when_the_job_was_ended", |case| {
        ended(case, "broken.c", &["test", "test_any", "iprobe_of_any", "test_barrier"], true);
        ended(case, "healthy_polls.c", &["thread_that_computes", "fed_test", "work_each_16", "rest_1_ms"], false);
    })
    .second_tier(),
];

/// Programs that a signal ends while they poll: `mpitrace run` says that those that `hang` do. The longer it lasts, the
/// surer this is seen beside other work.
fn ended(case: &Case, program: &str, names: &[&str], hang: bool) {
    for name in names {
        let told = [6, 20, 60].into_iter().find(|&seconds| {
            let said = ended_after(case, program, name, seconds);
            assert!(said.contains("it was ended after") || hang, "{name}: {said}");
            let cycle = said.contains(" wait for each other: ") && said.contains("nothing has moved for ");
            cycle || said.contains("rank 1 has not come to call ") && *name == "test_barrier" || !hang
        });
        assert!(told.is_some(), "{name} is not told");
    }
}

/// The first sentence about a job that was ended so long after its start.
fn ended_after(case: &Case, program: &str, name: &str, seconds: u64) -> String {
    let output = case.folder.join(format!("{name}{seconds}.mpitrace"));
    let mut words: Vec<OsString> = vec![binaries::companion().into(), "run".into(), "--sample".into(), "0".into()];
    words.extend(["-o".into(), output.into(), "--".into(), "timeout".into(), seconds.to_string().into()]);
    // healthy_polls.c takes for how long it runs.
    let outcome = case.launch(3, program).arg(name).arg("100").run_under(&words);
    litter::sweep();
    case.segments.empty();
    let said = outcome.lines_with("The job did not end normally: ");
    said.first().unwrap_or_else(|| panic!("{name}: {}", outcome.stderr)).to_string()
}

/// What rank 0 of polls.c knows, and the summary of its run.
struct Ran {
    polls: f64,
    all_s: f64,
    worked_s: f64,
    summary: Value,
}

fn run(case: &Case, kind: &str, us: i64, ms: u64) -> Ran {
    let traced = case.launch(2, "polls.c").arg(kind).arg(us.to_string()).arg(ms.to_string()).trace().run();
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let line = traced.stderr.lines().find_map(|line| line.split_once("polls ")).expect("what the rank knows").1;
    let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let [polls, all, worked] = numbers[..] else { panic!("{line}") };
    let summary = companion::mpitrace(&["summary", "--json", &traced.trace.path.display().to_string()]);
    Ran { polls, all_s: all / 1e9, worked_s: worked / 1e9, summary: companion::json(&summary) }
}

impl Ran {
    fn polls(&self, key: &str) -> f64 {
        self.summary["polls"][key].as_f64().unwrap_or_else(|| panic!("{key} in {}", self.summary["polls"]))
    }

    fn part(&self, key: &str) -> f64 {
        self.summary["parts"][key].as_f64().unwrap_or_else(|| panic!("{key} in {}", self.summary["parts"]))
    }

    /// The rows of polls are the program's own.
    fn check(&self) {
        assert!((self.polls("calls") - self.polls).abs() <= 2.0, "{} of {}", self.polls("calls"), self.polls);
        let seconds = self.polls("seconds");
        assert!((0.9 * self.all_s..=1.02 * self.all_s + 0.01).contains(&seconds), "{seconds} of {}", self.all_s);
        let bounds = ["computing_least_s", "computing_s", "computing_most_s", "seconds"].map(|key| self.polls(key));
        assert!(bounds.is_sorted(), "{bounds:?}");
    }
}

fn waiting(case: &Case) {
    for kind in ["test", "any", "iprobe", "ibarrier"] {
        // The run of several that was preempted least: by so much the measured times may be wrong.
        let preempted = |ran: &Ran| ran.summary["off_processor_by"]["preempted_s"].as_f64().expect("a number");
        let runs = (0..4).map(|_| run(case, kind, 0, 200));
        let ran = runs.min_by(|one, other| preempted(one).total_cmp(&preempted(other))).expect("a run");
        let preempted = preempted(&ran);
        ran.check();
        let computing = ran.polls("computing_s");
        assert!(computing <= 0.1 * ran.all_s + preempted, "{kind}: {preempted} s, {}", ran.summary["polls"]);
        let waiting = ran.part("point_to_point") + ran.part("waiting");
        let most = waiting + ran.part("communication") + ran.part("interrupted");
        assert!(
            waiting >= 0.6 * ran.all_s - preempted && most >= 0.8 * ran.all_s - preempted,
            "{kind}: {} s, {}",
            ran.all_s,
            ran.summary["parts"]
        );
        let losses = ran.summary["losses"].as_array().expect("losses");
        let is_late =
            |loss: &&Value| loss["kind"] == "late-rank" && loss["rank"] == 1 || loss["kind"] == "point-to-point";
        let late: f64 = losses.iter().filter(is_late).filter_map(|loss| loss["seconds"].as_f64()).sum();
        assert!(late >= 0.6 * ran.all_s - preempted, "{kind}: {}", ran.summary["losses"]);
    }
}

fn sleeping(case: &Case) {
    for us in [-100, -20_000] {
        let ran = run(case, "iprobe", us, 200);
        ran.check();
        assert!(ran.polls("computing_s") <= 0.2 * ran.all_s, "{us}: {}", ran.summary["polls"]);
        assert!(ran.part("point_to_point") >= 0.6 * ran.all_s, "{us}: {}", ran.summary["parts"]);
    }
}

fn computing(case: &Case) {
    for kind in ["test", "any", "iprobe", "ibarrier"] {
        for us in [50, 1000, 10_000] {
            let ran = run(case, kind, us, 200);
            ran.check();
            let (found, most) = (ran.polls("computing_s"), ran.polls("computing_most_s"));
            assert!(
                found >= 0.85 * ran.worked_s - 0.005 || most >= ran.worked_s,
                "{kind} {us}: {found} s of {}",
                ran.worked_s
            );
            assert!(found <= 1.15 * ran.worked_s + 0.02, "{kind} {us}: {found} s of {}", ran.worked_s);
            let part = ran.part("computing");
            assert!(part >= 0.85 * ran.worked_s - 0.005, "{kind} {us}: {} s of {}", ran.summary["parts"], ran.worked_s);
        }
    }
}

fn left(case: &Case) {
    let ran = run(case, "left", 100_000, 200);
    let found = ran.polls("computing_s");
    assert!((0.9 * ran.worked_s..=1.1 * ran.worked_s + 0.01).contains(&found), "{found} s of {}", ran.worked_s);
    assert!(ran.part("computing") >= 0.9 * ran.worked_s, "{}", ran.summary["parts"]);
}
