//! Does `mpitrace diagnose` name what is wrong? A program lets known things happen to known ranks at known repetitions,
//! and writes what each rank knows of itself: that is what a cause has to agree with, on a busy machine too.
//!
//! A try counts where what was asked for has cost more than whatever else happened to the ranks, by their own readings.
//! Seven of ten have to be right; in a soak (`tests/run.sh --soak causes`) 95 of 100, with the table of
//! docs/developers/measurements.md.

use crate::interruptions::Group;
use crate::support::companion::{self, mpitrace};
use crate::support::soak::{self, Soak, Table};
use crate::support::{Case, Test, Trace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub const TESTS: &[Test] = &[
    test("a_rank_late_in_2_percent", |case| tries(case, &SCENARIOS[0])),
    test("a_rank_late_in_60_percent", |case| tries(case, &SCENARIOS[1])),
    test("a_rank_late_in_all_repetitions", |case| tries(case, &SCENARIOS[2])),
    test("a_rank_that_is_stopped_and_continued", |case| tries(case, &SCENARIOS[3])),
    test("a_process_on_the_processor_of_a_rank", |case| tries(case, &SCENARIOS[4])),
    test("a_rank_that_is_moved_to_another_processor", |case| tries(case, &SCENARIOS[5]))
        .where_permitted(three_processors),
    test("a_first_call_that_takes_long", |case| tries(case, &SCENARIOS[6])),
    test("memory_that_is_touched_for_the_first_time", |case| tries(case, &SCENARIOS[7])),
    test("two_at_once", |case| tries(case, &SCENARIOS[8])),
    test("none", |case| tries(case, &SCENARIOS[9])),
    test("ranks_that_are_late_in_turns", |case| tries(case, &SCENARIOS[10])),
    test("a_rank_that_sleeps", |case| tries(case, &SCENARIOS[11])),
    test("a_rank_that_waits_for_a_mutex", |case| tries(case, &SCENARIOS[12])),
    test("a_rank_that_a_quota_holds", |case| tries(case, &SCENARIOS[13]))
        .where_permitted(|| Group::new("try").map(drop)),
    test("a_rank_whose_message_is_late", |case| tries(case, &SCENARIOS[14])),
    Test::new("of_ranks_that_are_late_in_turns_none_is_named", turns).second_tier(),
    test("another_algorithm_is_named_by_compare", algorithm),
];

const fn test(name: &'static str, run: fn(&Case)) -> Test {
    Test::new(name, run).second_tier()
}

/// On two processors the rank is moved to that of the other one, and what costs time then is that both share it.
fn three_processors() -> Result<(), String> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors > 2).then_some(()).ok_or_else(|| format!("{processors} processors, and it takes three"))
}

/// An event, and the cause that has to be named.
struct Scenario {
    /// The program's argument.
    what: &'static str,
    /// For people.
    name: &'static str,
    /// Kind and rank of the first cause, or of the first two in any order; none: nothing in particular.
    expected: &'static [(&'static str, Option<u32>)],
    /// True if the time of the causes can be held against the program's own.
    timed: bool,
}

const LATE: &[(&str, Option<u32>)] = &[("late-rank", Some(1))];
const OFF: &[(&str, Option<u32>)] = &[("interrupted", Some(1))];

const fn scenario(
    what: &'static str,
    name: &'static str,
    expected: &'static [(&'static str, Option<u32>)],
    timed: bool,
) -> Scenario {
    Scenario { what, name, expected, timed }
}

const SCENARIOS: [Scenario; 15] = [
    scenario("late2", "a rank late in 2 %", LATE, true),
    scenario("late60", "a rank late in 60 %", LATE, true),
    scenario("late100", "a rank late in 100 %", LATE, true),
    scenario("stop", "a rank stopped and continued", OFF, true),
    scenario("hog", "a process on the rank's processor", OFF, false),
    scenario("migrate", "a rank moved to another processor", &[("migration", Some(1))], false),
    scenario("first", "a first call that takes long", &[("first-call", None)], false),
    scenario("touch", "first touches of memory", &[("page-faults", Some(1))], false),
    scenario("two", "a late rank, and another one stopped", &[("late-rank", Some(0)), ("interrupted", Some(1))], true),
    scenario("none", "nothing", &[], false),
    scenario("turns", "ranks late in turns", &[("late-rank", None)], false),
    scenario("sleep", "a rank that sleeps", &[("asleep", Some(1))], true),
    scenario("mutex", "a rank that waits for a mutex", &[("asleep", Some(1))], true),
    scenario("quota", "a rank held by a quota", &[("throttled", Some(1))], false),
    scenario("message", "a rank whose message is late", &[("point-to-point", Some(1))], true),
];

/// Tries outside of a soak, and how many of them have to be right: 7 of 10, 95 of 100.
const TRIES: usize = 10;
const RIGHT: usize = 7;
/// Other events have cost at most this share of the wanted one, or the try does not count.
const ELSE: f64 = 0.33;
/// So many tries for each one that has to count.
const MOST: usize = 3;
/// The program's stamps lie outside of the tracer's, and two clocks are read: ns for each repetition.
const STAMPS: f64 = 5_000.0;

/// A rank's own numbers of one repetition, as tests/programs/causes.c writes them.
#[derive(Clone, Copy)]
struct Known {
    enter: f64,
    exit: f64,
    off_before: f64,
    off_inside: f64,
    switches: f64,
    faults: f64,
    held_up: f64,
}

/// The numbers of both ranks.
struct Witness {
    ranks: [Vec<Known>; 2],
}

/// A cause that was named.
#[derive(Clone, Debug)]
struct Named {
    kind: String,
    /// Why a rank was off its processor.
    because: Option<String>,
    rank: Option<u32>,
    ns: f64,
}

/// The sums of one scenario.
#[derive(Clone, Default)]
struct Sums {
    tries: usize,
    right: usize,
    denied: usize,
    busy: usize,
    /// Of each try, by how much the time of its causes differs from the program's.
    differences: Vec<f64>,
}

impl soak::Sums for Sums {
    fn add(&mut self, more: &Sums) {
        self.tries += more.tries;
        self.right += more.right;
        self.denied += more.denied;
        self.busy += more.busy;
        self.differences.extend(&more.differences);
    }

    fn cells(&self) -> Vec<String> {
        let close = self.differences.iter().filter(|difference| **difference <= 0.05).count();
        // Of what has no time to be held against the program's there is no difference.
        let close = if self.differences.is_empty() { String::new() } else { close.to_string() };
        let [tries, right, denied, busy] = [self.tries, self.right, self.denied, self.busy].map(|sum| sum.to_string());
        vec![tries, right, denied, close, busy]
    }
}

static SOAK: Soak<Sums> = Soak::new();

fn tries(case: &Case, scenario: &Scenario) {
    let wanted = soak::tries().unwrap_or(TRIES);
    let needed = if soak::tries().is_some() { wanted * 95 / 100 } else { RIGHT };
    let (mut sums, mut wrong) = (Sums::default(), Vec::new());
    for number in 0..MOST * wanted {
        // Outside of a soak no more than it takes to decide.
        let decided = sums.right >= needed || sums.tries - sums.right > wanted - needed;
        if sums.tries == wanted || soak::tries().is_none() && decided {
            break;
        }
        let folder = case.folder.join(format!("try{number}"));
        let (trace, witness) = run(case, scenario, &folder);
        let named = match scenario.what {
            "message" => lost_in_messages(&trace),
            _ => diagnosed(&trace),
        };
        let denied: Vec<&Named> = named.iter().filter(|cause| !witness.confirms(cause)).collect();
        sums.denied += denied.len();
        // Nothing is named that did not happen, however busy the machine is.
        if !denied.is_empty() {
            wrong.push(format!("try {number}: denied: {denied:?} of {named:?}"));
        }
        if witness.is_busy(scenario) {
            sums.busy += 1;
        } else {
            sums.tries += 1;
            let right = is_right(scenario, &named) && denied.is_empty();
            sums.right += usize::from(right);
            sums.differences.extend(scenario.timed.then(|| witness.difference(scenario, &named)));
            if !right {
                wrong.push(format!("try {number}: {named:?}"));
            }
        }
        if wrong.is_empty() {
            let _ = fs::remove_file(&trace.path);
            let _ = fs::remove_dir_all(folder);
        }
    }
    SOAK.add(case, scenario.name, &sums);
    let wrong = wrong.join("\n");
    // Where the machine was too busy for most tries, as large a share of the others.
    let needed = needed.min(sums.tries * needed / wanted);
    assert!(sums.right >= needed, "{} of {} are right, {} busy:\n{wrong}", sums.right, sums.tries, sums.busy);
    let all_tries = sums.tries + sums.busy;
    assert!(sums.denied * 10 <= 3 * all_tries, "{} causes did not happen in {all_tries} tries:\n{wrong}", sums.denied);
}

fn run(case: &Case, scenario: &Scenario, folder: &Path) -> (Trace, Witness) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder).expect("a folder for what the ranks know");
    let group = (scenario.what == "quota").then(|| Group::new(case.mpi.name).expect("a control group"));
    let mut launch = case.launch(2, "causes.c").arg(scenario.what).arg(folder).trace();
    if let Some(group) = &group {
        launch = launch.arg(&group.0);
    }
    if scenario.what == "touch" {
        launch = launch.set("MPITRACE_EVENTS", "page-faults");
    }
    let outcome = launch.run();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    (outcome.trace, Witness { ranks: [0, 1].map(|rank| Known::of_rank(folder, rank)) })
}

/// The causes of the repeated operation, the one with the most time first.
fn diagnosed(trace: &Trace) -> Vec<Named> {
    let finished = mpitrace(&["diagnose".as_ref(), trace.path.as_os_str(), "--json".as_ref()]);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let operations = companion::json(&finished);
    let operations = operations.as_array().expect("a list");
    let repeated = operations.iter().find(|operation| operation["function"] == "MPI_Allreduce").expect("it was called");
    let named = |cause: &Value| Named {
        kind: cause["kind"].as_str().expect("a kind").to_owned(),
        because: cause["because"].as_str().map(str::to_owned),
        rank: cause["rank"].as_u64().map(|rank| rank as u32),
        ns: 1e9 * cause["seconds"].as_f64().expect("seconds"),
    };
    repeated["causes"].as_array().expect("causes").iter().map(named).collect()
}

/// For which ranks others are in point-to-point calls.
fn lost_in_messages(trace: &Trace) -> Vec<Named> {
    let summary = companion::json(&mpitrace(&["summary".as_ref(), trace.path.as_os_str(), "--json".as_ref()]));
    let losses = summary["losses"].as_array().expect("losses").iter();
    let late = losses.filter(|loss| loss["kind"] == "point-to-point" && loss["because"] == "computing");
    let named = |loss: &Value| Named {
        kind: "point-to-point".to_owned(),
        because: None,
        rank: loss["partner"].as_u64().map(|rank| rank as u32),
        ns: 1e9 * loss["seconds"].as_f64().expect("seconds"),
    };
    late.map(named).collect()
}

fn is_right(scenario: &Scenario, named: &[Named]) -> bool {
    let mut first: Vec<(&str, Option<u32>)> = Vec::new();
    // One cause may be in several groups of repetitions.
    let reasons = ["asleep", "throttled"];
    let wants_reason = scenario.expected.iter().any(|(kind, _)| reasons.contains(kind));
    let kind = |cause: &'_ Named| cause.because.clone().filter(|_| wants_reason).unwrap_or(cause.kind.clone());
    let kinds: Vec<(String, Option<u32>)> = named.iter().map(|cause| (kind(cause), cause.rank)).collect();
    for cause in kinds.iter().map(|(kind, rank)| (kind.as_str(), *rank)) {
        if !first.contains(&cause) {
            first.push(cause);
        }
    }
    first.truncate(scenario.expected.len());
    let fits = |&(kind, rank): &(&str, Option<u32>)| {
        // On which rank the reduction is done is the library's choice.
        first.iter().any(|&(found, of)| found == kind && (of == rank || kind == "first-call"))
    };
    scenario.expected.iter().all(fits)
}

impl Known {
    fn of_rank(folder: &Path, rank: usize) -> Vec<Known> {
        let text = fs::read_to_string(folder.join(format!("rank.{rank}"))).expect("what the rank knows");
        let of = |line: &str| {
            let numbers: Vec<f64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
            let [enter, exit, off_before, off_inside, before, inside, faults, _, held_up] = numbers[..] else {
                panic!("{line}")
            };
            Known { enter, exit, off_before, off_inside, switches: before + inside, faults, held_up }
        };
        text.lines().map(of).collect()
    }
}

impl Witness {
    fn pairs(&self, rank: usize) -> impl Iterator<Item = (&Known, &Known)> {
        self.ranks[rank].iter().zip(&self.ranks[1 - rank])
    }

    /// How long the other rank waited in the call for this one to enter, ns, where `counts` is true of this one.
    fn waited_for(&self, rank: usize, counts: impl Fn(&Known) -> bool) -> f64 {
        let waited = |(own, other): (&Known, &Known)| (own.enter - other.enter).clamp(0.0, other.exit - other.enter);
        self.pairs(rank).filter(|(own, _)| counts(own)).map(waited).sum()
    }

    /// All time that a rank was off its processor, ns.
    fn off(&self, rank: usize) -> f64 {
        self.ranks[rank].iter().map(|known| known.off_before.max(0.0) + known.off_inside.max(0.0)).sum()
    }

    fn longest(&self, k: usize) -> f64 {
        self.ranks.iter().map(|rank| rank[k].exit - rank[k].enter).fold(0.0, f64::max)
    }

    fn usual(&self) -> f64 {
        let mut all: Vec<f64> = (0..self.ranks[0].len()).map(|k| self.longest(k)).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    }

    /// True if other events have cost the ranks as much as the wanted one.
    fn is_busy(&self, scenario: &Scenario) -> bool {
        let held_up = |rank: usize| self.ranks[rank].iter().map(|known| known.held_up).sum::<f64>();
        let was = |known: &Known| known.held_up > 100_000.0;
        let beyond = |rows: &mut dyn Iterator<Item = usize>| {
            let usual = self.usual();
            rows.map(|k| (self.longest(k) - usual).max(0.0)).sum::<f64>()
        };
        let rows = self.ranks[0].len();
        let (asked, other) = match scenario.what {
            "late2" | "late60" | "late100" => (held_up(1), self.off(0) + self.off(1)),
            "message" => (held_up(1), self.off(1)),
            "sleep" | "mutex" => (held_up(1), self.off(0) + (self.off(1) - held_up(1)).max(0.0)),
            "turns" => (held_up(0) + held_up(1), self.off(0) + self.off(1)),
            "stop" => {
                let stopped: f64 = self.ranks[1].iter().filter(|known| was(known)).map(|known| known.off_before).sum();
                (stopped, self.off(0) + self.off(1) - stopped)
            }
            "two" => {
                let stopped: f64 = self.ranks[1].iter().filter(|known| was(known)).map(|known| known.off_before).sum();
                (stopped.min(held_up(0)), self.off(0) + self.off(1) - stopped)
            }
            // The one that is moved drives the other one away from where it comes.
            "hog" | "migrate" | "quota" => (self.off(1), self.off(0) / 2.0),
            "first" => (self.longest(0), self.off(0) + self.off(1)),
            "touch" => {
                let touches = |k: usize| self.ranks[1][k].faults > 100.0;
                let off = |k: usize| self.ranks.iter().map(|rank| rank[k].off_before + rank[k].off_inside).sum::<f64>();
                let off: f64 = (1..rows).filter(|&k| touches(k)).map(off).sum();
                let asked = beyond(&mut (1..rows).filter(|&k| touches(k)));
                (asked - off, off + beyond(&mut (1..rows).filter(|&k| !touches(k))))
            }
            _ => (1.0, 0.0),
        };
        other > ELSE * asked
    }

    /// True if the ranks' own readings agree that this happened.
    fn confirms(&self, cause: &Named) -> bool {
        let slack = STAMPS * self.ranks[0].len() as f64;
        let least = |ns: f64| ns + slack >= 0.5 * cause.ns;
        let rank = cause.rank.map(|rank| rank as usize);
        match (cause.kind.as_str(), rank) {
            ("point-to-point", Some(rank)) => least(self.ranks[rank].iter().map(|known| known.held_up).sum()),
            ("late-rank", Some(rank)) => least(self.waited_for(rank, |_| true)),
            ("late-rank", None) => least(self.waited_for(0, |_| true) + self.waited_for(1, |_| true)),
            ("interrupted" | "migration", Some(rank)) => {
                let switches: f64 = self.ranks[rank].iter().map(|known| known.switches).sum();
                // It may hold up the other one for as long.
                switches > 0.0 && least(2.0 * self.off(rank))
            }
            ("page-faults", Some(rank)) => self.ranks[rank].iter().any(|known| known.faults > 0.0),
            ("page-faults", None) => self.ranks.iter().flatten().any(|known| known.faults > 0.0),
            ("first-call", _) => self.longest(0) > self.usual(),
            // The program does not see it.
            ("perturbed", _) => true,
            _ => false,
        }
    }

    /// By how much the time of what was asked for differs from the program's own, as a share.
    fn difference(&self, scenario: &Scenario, named: &[Named]) -> f64 {
        let sum = |kinds: &[&str], rank: u32| {
            let of = |cause: &&Named| kinds.contains(&cause.kind.as_str()) && cause.rank == Some(rank);
            named.iter().filter(of).map(|cause| cause.ns).sum::<f64>()
        };
        let was = |known: &Known| known.held_up > 100_000.0;
        let differs = |found: f64, known: f64| (found / known - 1.0).abs();
        match scenario.what {
            // Named are the largest causes: what was interrupted of a late rank's time may be too little for that.
            "stop" | "sleep" | "mutex" => differs(sum(&["interrupted", "migration"], 1), self.waited_for(1, was)),
            "message" => differs(sum(&["point-to-point"], 1), self.ranks[1].iter().map(|known| known.held_up).sum()),
            // A rank that computes for long may lose its processor, which is a cause of its own.
            "two" => differs(sum(&["late-rank", "interrupted", "migration"], 0), self.waited_for(0, was))
                .max(differs(sum(&["interrupted", "migration"], 1), self.waited_for(1, was))),
            _ => differs(sum(&["late-rank", "interrupted", "migration"], 1), self.waited_for(1, was)),
        }
    }
}

/// The sentences of `summary` on ranks of which none causes two thirds of the waiting, by their own readings.
fn turns(case: &Case) {
    for number in 0..MOST {
        let (trace, witness) = run(case, &SCENARIOS[10], &case.folder.join(format!("turns{number}")));
        let [one, other] = [0, 1].map(|rank| witness.waited_for(rank, |_| true));
        // Else other processes held one of them up.
        if one.max(other) < 0.6 * (one + other) {
            let finished = mpitrace(&["summary".as_ref(), trace.path.as_os_str()]);
            let named = |line: &&str| line.contains("others wait for rank") && line.contains("MPI_Allreduce");
            assert_eq!(finished.stdout.lines().find(named), None, "{one} and {other} ns:\n{}", finished.stdout);
            return check_verdict(&trace);
        }
    }
}

/// The verdict follows from the losses of the same summary.
fn check_verdict(trace: &Trace) {
    let finished = mpitrace(&["summary".as_ref(), trace.path.as_os_str(), "--json".as_ref()]);
    let summary = companion::json(&finished);
    let (mut of_kinds, mut of_ranks) = (BTreeMap::new(), [0.0; 2]);
    for loss in summary["losses"].as_array().expect("losses") {
        let (kind, seconds) = (loss["kind"].as_str().expect("a kind"), loss["seconds"].as_f64().expect("seconds"));
        *of_kinds.entry(kind).or_insert(0.0) += seconds;
        if kind == "late-rank" {
            of_ranks[loss["rank"].as_u64().expect("a rank") as usize] += seconds;
        }
    }
    let largest = of_kinds.iter().max_by(|one, other| one.1.total_cmp(other.1)).map(|(kind, _)| *kind);
    let verdict = summary["verdict"].as_str().expect("a verdict");
    let [one, other] = of_ranks;
    let expected = match one.max(other) >= 2.0 / 3.0 * (one + other) {
        true => format!("The others wait for rank {} ", usize::from(other > one)),
        false => "The ranks wait for each other in turns ".to_owned(),
    };
    // A rank that was off its processor outside of calls lost that time itself, too: the verdict may name it as late.
    if largest != Some("interrupted") {
        assert_eq!(verdict.starts_with(&expected), largest == Some("late-rank"), "{verdict}\n{summary:#}");
    }
}

/// A control variable that changes the algorithm, and its values.
fn variable(case: &Case) -> (&'static str, [&'static str; 2]) {
    match case.mpi.abi {
        "openmpi" => ("OMPI_MCA_coll_tuned_allreduce_algorithm", ["1", "3"]),
        _ if case.mpi.name.starts_with("impi") => ("I_MPI_ADJUST_ALLREDUCE", ["1", "2"]),
        _ => ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", ["recursive_doubling", "reduce_scatter_allgather"]),
    }
}

fn algorithm(case: &Case) {
    let (variable, values) = variable(case);
    let run = |value: &str| {
        let launch = case.launch(2, "repeat.c").trace().set("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
        let outcome = launch.set(variable, value).run();
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome.trace.path
    };
    let sides = values.map(|value| [run(value), run(value)]);
    let mut arguments: Vec<&std::ffi::OsStr> = vec!["compare".as_ref(), "--json".as_ref()];
    for (name, files) in ["--a", "--b"].iter().zip(&sides) {
        arguments.push(name.as_ref());
        arguments.extend(files.iter().map(|file| file.as_os_str()));
    }
    let finished = mpitrace(&arguments);
    let compared = companion::json(&finished);
    let factors = compared[0]["factors"].as_array().expect("factors");
    let named = |factor: &&Value| factor["name"].as_str().is_some_and(|name| name.contains(variable));
    let factor = factors.iter().find(named).unwrap_or_else(|| panic!("{variable} is not among {factors:?}"));
    assert_eq!([&factor["a"], &factor["b"]], [values[0], values[1]], "{factors:?}");
    // Nothing but what follows from the variable.
    let allowed = |factor: &Value| {
        let name = factor["name"].as_str().unwrap_or_default();
        let is_stated = name == "collective_algorithms" || name.starts_with("tuning");
        is_stated || name.contains(variable) || name.starts_with("algorithm of MPI_Allreduce/")
    };
    assert!(factors.iter().all(allowed), "{factors:?}");
    // The algorithms are seen, too.
    if ["ompi4", "ompi5"].contains(&case.mpi.name) {
        let seen = |factor: &Value| {
            let is = |side: &str, name: &str| factor[side].as_str().is_some_and(|all| all.starts_with(name));
            is("a", "basic_linear") && is("b", "recursive_doubling")
        };
        assert!(factors.iter().any(seen), "{factors:?}");
    }
}

/// In a soak, the table of docs/developers/measurements/causes.txt, into target/tests/causes.md.
pub fn write_table() {
    let right = ["right cause and rank first", "causes that did not happen", "within 5 % of the time"];
    SOAK.write(&Table {
        file: "causes.md",
        below: false,
        how: "2 ranks, 400 repetitions each".to_owned(),
        columns: &["what happens", "tries", right[0], right[1], right[2], "too busy, not counted"],
        kinds: SCENARIOS.iter().map(|scenario| scenario.name).collect(),
        of_all: false,
    });
}
