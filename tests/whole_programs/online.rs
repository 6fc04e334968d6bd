//! Answers while the program runs are those that the same run times have afterwards.

use mpitrace::stopping::{Answer, Decision, Rule};
use serde_json::Value;

use crate::support::companion::mpitrace;
use crate::support::{Case, On, Test, Trace};

/// On both families of libraries, whose communicators differ.
const FAMILIES: &[&str] = &["ompi4", "mpich4"];

pub const TESTS: &[Test] = &[
    Test::new("answers_of_a_rank_are_those_of_its_run_times_in_the_trace", alone).first_on(FAMILIES),
    Test::new("ranks_that_reduce_their_run_times_are_told_what_the_companion_says", together).first_on(FAMILIES),
    Test::new("answers_reach_fortran", fortran).on(On::Fortran).first_on(FAMILIES),
];

/// As tests/programs/online.c has them.
const RULE: Rule = Rule { minimum: 60, maximum: 2000, error: 0.1, confidence: 0.95 };
const TOGETHER: u64 = 500;
/// Run times in the trace are those of a clock whose frequency is known better.
const FREQUENCY: f64 = 1e-3;

/// A line of the program.
#[derive(Debug, PartialEq)]
struct Told {
    rank: u64,
    what: String,
    /// Repetitions that the program says it has made, its decision, whether the warm-up is over, the calls that the
    /// answer names, repetitions looked at, end of the warm-up.
    numbers: Vec<i64>,
    /// Median, ends of its interval, error.
    values: Vec<f64>,
}

fn told(stdout: &str) -> Vec<Told> {
    let line = |line: &str| {
        let (rank, rest) = line.strip_prefix("rank ")?.split_once(": ")?;
        let words: Vec<&str> = rest.split(' ').collect();
        let [what, words @ ..] = &words[..] else { return None };
        let numbers: Option<Vec<i64>> = words.get(..6)?.iter().map(|word| word.parse().ok()).collect();
        let values: Option<Vec<f64>> = words.get(6..10)?.iter().map(|word| word.parse().ok()).collect();
        Some(Told { rank: rank.parse().ok()?, what: (*what).to_owned(), numbers: numbers?, values: values? })
    };
    stdout.lines().filter_map(line).collect()
}

/// Run of the program, with what it says of one of its parts, by ranks.
#[track_caller]
fn traced(case: &Case, what: &str) -> (Trace, Vec<Told>) {
    let plain = case.launch(2, "online.c").run();
    assert_eq!(plain.code, 0, "{}{}", plain.stdout, plain.stderr);
    let unknown = told(&plain.stdout);
    assert_eq!(unknown.len(), 8, "{}", plain.stdout);
    // Its own decision, after 200 repetitions, and nothing known.
    assert_eq!(unknown[0].numbers, [200, 2, -1, -1, 0, -1], "{}", plain.stdout);
    assert!(unknown[2..].iter().all(|told| told.numbers[1] == -1 && told.values == [-1.0; 4]), "{}", plain.stdout);

    let outcome = case.launch(2, "online.c").trace().run();
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
    for line in ["never called -1", "senseless -1"] {
        assert_eq!(outcome.stdout.matches(line).count(), 2, "{}", outcome.stdout);
    }
    let said = "invalid stopping rule: the error is not a number above 0";
    assert_eq!(outcome.stderr.matches(said).count(), 2, "once on each rank: {}", outcome.stderr);
    let mut told = told(&outcome.stdout);
    told.retain(|told| told.what == what);
    assert_eq!(told.iter().map(|told| told.rank).collect::<Vec<_>>(), [0, 1], "{}", outcome.stdout);
    (outcome.trace, told)
}

/// What is not known is -1 to the program.
#[track_caller]
fn assert_near(found: f64, expected: Option<f64>, told: &Told) {
    let expected = expected.unwrap_or(-1.0);
    assert!((found - expected).abs() <= FREQUENCY * expected.abs() + 0.002, "{found}, not {expected}: {told:?}");
}

/// Global times have lost some digits, by which equal run times differ.
fn rounded(ns: f64) -> f64 {
    (ns * 1e3).round() / 1e3
}

fn alone(case: &Case) {
    let (trace, told) = traced(case, "alone");
    let info = trace.info();
    let operation =
        info.operations.iter().find(|operation| operation.function == "MPI_Allreduce" && operation.bytes == 128);
    let operation = operation.unwrap_or_else(|| panic!("{:#?}", info.operations)).operation.to_string();
    let rows = trace.dump(&["--operation", &operation]);
    for told in &told {
        let repetitions = told.numbers[0];
        assert_eq!(repetitions, told.numbers[3], "calls so far: {told:?}");
        let own = rows.iter().filter(|row| row.rank == told.rank);
        let run_times: Vec<f64> = own.filter_map(|row| Some(rounded(row.exit_ns? - row.enter_ns))).collect();
        // One more call comes after the loop.
        assert_eq!(run_times.len() as i64, repetitions + 1);
        let answer = RULE.judge_all(&run_times[..repetitions as usize]);
        let decision = match answer.decision {
            Decision::Continue => 0,
            Decision::Enough => 1,
            Decision::Maximum => 2,
        };
        let Answer { looked_at, warmup_end, median_ns, interval, error, .. } = answer;
        let over = answer.warmup_is_over().map_or(-1, i64::from);
        let end = warmup_end.map_or(-1, |end| end as i64);
        assert_eq!(told.numbers[1..], [decision, over, repetitions, looked_at as i64, end], "{told:?} {answer:?}");
        assert!(decision > 0, "all ranks had enough, or the most: {told:?}");
        assert_near(told.values[0], median_ns, told);
        assert_near(told.values[1], interval.map(|interval| interval.lower), told);
        assert_near(told.values[2], interval.map(|interval| interval.upper), told);
        assert!((told.values[3] - error.unwrap_or(-1.0)).abs() < 1e-4, "{told:?} {answer:?}");
    }
    assert_eq!(told[0].numbers[0], told[1].numbers[0], "they stop together");
}

fn together(case: &Case) {
    let (trace, told) = traced(case, "together");
    let of = |told: &Told| (told.numbers.clone(), told.values.clone());
    assert_eq!(of(&told[0]), of(&told[1]), "the same numbers, the same answer");
    let operation = trace.info().only("MPI_Bcast").operation.to_string();
    let path = trace.path.to_str().expect("a plain path");
    let json = |command: &[&str]| -> Value {
        let arguments = [command, &[path, "--json", "--operation", &operation]].concat();
        let finished = mpitrace(&arguments);
        let found: Value =
            serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {}", finished.stderr));
        found[0].clone()
    };
    let categories = json(&["categorize"]);
    let steady = json(&["stats", "--category", "steady"]);
    let rule = json(&["stats", "--stopping", "500,500"]);
    let told = &told[0];
    assert_eq!((told.numbers[0] as u64, told.numbers[4] as u64), (TOGETHER, TOGETHER));
    assert_eq!(told.numbers[5], categories["warmup_end"].as_i64().unwrap_or(-1), "{told:?} {}", categories["class"]);
    let over = match categories["class"].as_str().expect("a class") {
        "flat" | "warmup" => 1,
        "undecided" | "too-few" => -1,
        _ => 0,
    };
    assert_eq!(told.numbers[2], over);
    assert_near(told.values[0], steady["median_ns"].as_f64(), told);
    let interval = &steady["median_interval"];
    assert_near(told.values[1], interval["lower_ns"].as_f64(), told);
    assert_near(told.values[2], interval["upper_ns"].as_f64(), told);
    let stopping = &rule["enough"]["stopping"];
    assert_eq!(stopping["repetitions"].as_u64(), Some(TOGETHER), "{stopping}");
    assert_eq!(stopping["enough"].as_bool(), Some(told.numbers[1] == 1), "{stopping} {told:?}");
    assert_near(told.values[0], stopping["median_ns"].as_f64(), told);
}

fn fortran(case: &Case) {
    let outcome = case.launch(2, "inner_online.f90").trace().run();
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
    let numbers = |what: &str| -> Vec<f64> {
        let line = outcome.stdout.lines().find_map(|line| line.strip_prefix(what));
        let line = line.unwrap_or_else(|| panic!("no {what}: {}", outcome.stdout));
        line.split_whitespace().map(|word| word.parse().expect("a number")).collect()
    };
    let alone = numbers("alone");
    assert!(alone[1] >= 1.0 && alone[0] == alone[3] && alone[4] <= alone[3], "{alone:?}");
    let rule = Rule { minimum: 60, ..RULE };
    assert_eq!(rule.look(alone[0] as u64), Some(alone[4] as u64), "{alone:?}");
    let together = numbers("together");
    assert_eq!((together[0], together[2]), (300.0, 300.0), "{together:?}");
    let operation = outcome.trace.info().only("MPI_Bcast").operation.to_string();
    let categories = outcome.trace.categorize(&["--operation", &operation]);
    assert_eq!(together[3], categories[0].warmup_end.map_or(-1.0, |end| end as f64), "{together:?}");

    let plain = case.launch(2, "inner_online.f90").run();
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    assert!(plain.stdout.starts_with("alone 200 2 -1 -1 0\ntogether 0 -1 0 -1 "), "{}", plain.stdout);
}
