//! The account of each rank's time, against what the program knows of its own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Case, Test, companion};
use mpitrace_analysis::account::{Account, RankAccount, RankPart};
use mpitrace_statistics::categories::Rule;
use mpitrace_trace::clock::Clock;
use mpitrace_trace::operations::Operations;
use mpitrace_trace::reader::Trace;
use serde_json::Value;

pub const TESTS: &[Test] = &[
    Test::new("adds_up_to_the_time_of_each_rank", adds_up),
    Test::new("has_the_processor_time_and_the_waits_that_the_program_knows", known),
    Test::new("says_that_calls_were_not_timed", not_timed),
];

/// For how long a hypervisor has kept processors from this machine since its start, ns, to [`STOLEN_STEP`]: the eighth
/// number of /proc/stat (proc_stat(5)).
fn stolen_ns() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let steps = stat.lines().next().and_then(|line| line.split_whitespace().nth(8)?.parse::<u64>().ok());
    steps.unwrap_or(0) as f64 * STOLEN_STEP
}

/// USER_HZ is 100 on all Linux that mpitrace is built for.
const STOLEN_STEP: f64 = 1e7;

/// What this gives, and the most that a hypervisor can have kept processors from the machine meanwhile, ns.
fn and_stolen<R>(run: impl FnOnce() -> R) -> (R, f64) {
    let before = stolen_ns();
    let result = run();
    let stolen = stolen_ns() - before;
    (result, if stolen > 0.0 { stolen + STOLEN_STEP } else { 0.0 })
}

/// Of each rank of the trace, whose parts add up, and to all but 1 % are known.
///
/// A thread whose processor a hypervisor takes away is not switched, so nothing is seen of that, and the kernel leaves
/// the time out of the processor time: it is in the part `other`.
#[track_caller]
fn accounts(path: &Path, stolen_ns: f64) -> Vec<RankAccount> {
    let trace = Trace::open(&[path]).expect("a trace");
    let (clock, operations) = (Clock::new(&trace), Operations::new(&trace));
    let account = Account::new(&trace, &clock, &operations, Rule::default());
    for rank in &account.ranks {
        let sum: f64 = rank.parts.sum();
        assert!((sum / rank.wall_ns - 1.0).abs() < 1e-9, "{sum}: {rank:?}");
        let other = rank.parts[RankPart::Other];
        let most = 0.01 * rank.wall_ns;
        assert!(rank.is_divided && (-most..=most + stolen_ns).contains(&other), "{stolen_ns} ns stolen: {rank:?}");
        assert!(RankPart::ALL.iter().all(|&part| part == RankPart::Other || rank.parts[part] >= 0.0), "{rank:?}");
        // All of a rank's time there may be waiting for the last one.
        let [init, finalize] =
            [[RankPart::Init, RankPart::WaitingInit], [RankPart::Finalize, RankPart::WaitingFinalize]];
        for parts in [&init[..], &finalize, &[RankPart::Tracer]] {
            assert!(rank.parts.sum_of(parts) > 0.0, "{parts:?}: {rank:?}");
        }
    }
    account.ranks
}

fn adds_up(case: &Case) {
    for (ranks, program) in [(2, "repeat.c"), (3, "late_message.c"), (2, "threads.c")] {
        let (traced, stolen_ns) = and_stolen(|| case.launch(ranks, program).trace().run());
        accounts(&traced.trace.path, stolen_ns);
    }
}

/// The trace of `parts.c`, and what each rank knows: the processor time that it computed for, and its time in
/// point-to-point calls that can wait, ns.
fn parts(case: &Case, what: &str, stamps: &str) -> (PathBuf, Vec<[f64; 2]>) {
    let witness = case.folder.join(format!("witness-{what}-{stamps}"));
    let traced = case.launch(3, "parts.c").arg(what).arg(&witness).set("MPITRACE_P2P", stamps).trace().run();
    assert_eq!(traced.code, 0, "{}", traced.stderr);
    let read = |rank: u32| {
        let text =
            fs::read_to_string(witness.with_file_name(format!("witness-{what}-{stamps}.{rank}"))).expect("numbers");
        let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        <[f64; 2]>::try_from(numbers).expect("two numbers")
    };
    (traced.trace.path, (0..3).map(read).collect())
}

/// Of so many runs one is as the program knows it: a busy machine can disturb what lies between the program's clocks
/// and those of the account.
const TRIES: usize = 3;

fn known(case: &Case) {
    for what in ["collectives", "halo", "messages", "requests", "master", "asleep"] {
        let tries: Vec<String> = (0..TRIES).map_while(|_| differs(case, what)).collect();
        assert!(tries.len() < TRIES, "{what}: {tries:#?}");
    }
}

/// The first part of a rank's account that is not as the program knows it.
fn differs(case: &Case, what: &str) -> Option<String> {
    let ((path, witness), stolen_ns) = and_stolen(|| parts(case, what, "1"));
    accounts(&path, stolen_ns).iter().zip(witness).find_map(|(rank, [computed, waited])| {
        let close = |found: f64, known: f64| (found - known).abs() <= 0.02 * known + 0.01 * rank.wall_ns;
        let [found, asleep, preempted] =
            [RankPart::PointToPoint, RankPart::Asleep, RankPart::Preempted].map(|part| rank.parts[part]);
        // It also writes the file, and reads the clock. Some kernels count time that a hypervisor took as the thread's.
        let found_computing = rank.parts[RankPart::Computing];
        let computes = close(found_computing, computed) || (computed..computed + stolen_ns).contains(&found_computing);
        // On a busy machine the rank is also preempted between the program's stamps and those within them.
        let waits = close(found, waited) || (waited - preempted..waited).contains(&found);
        // Of several switches between two looks only their number is known, so a sleep counts in part as preempted.
        let sleeps = match what == "asleep" && rank.rank == 1 {
            true => asleep > 0.0 && asleep + preempted > 60.0 * 3e6,
            false => asleep < 60.0 * 3e6,
        };
        let is_known = computes && waits && sleeps;
        (!is_known).then(|| format!("{computed} ns computed, {waited} ns waited: {rank:?}"))
    })
}

fn not_timed(case: &Case) {
    let ((path, witness), stolen_ns) = and_stolen(|| parts(case, "halo", "0"));
    for (rank, [computed, waited]) in accounts(&path, stolen_ns).iter().zip(witness) {
        assert!(!rank.is_timed && rank.parts[RankPart::PointToPoint] == 0.0, "{rank:?}");
        let computing = rank.parts[RankPart::Computing];
        assert!(
            computing >= 0.98 * computed && computing <= 1.02 * (computed + waited) + 0.01 * rank.wall_ns,
            "{rank:?}"
        );
    }
    let summary = companion::json(&companion::mpitrace(&["summary".as_ref(), path.as_os_str(), "--json".as_ref()]));
    assert_eq!(summary["calls_timed"], Value::Bool(false), "{summary:#}");
    let sum: f64 = summary["parts"].as_object().expect("parts").values().filter_map(Value::as_f64).sum();
    assert!((sum / summary["rank_seconds"].as_f64().expect("seconds") - 1.0).abs() < 1e-9, "{summary:#}");
}
