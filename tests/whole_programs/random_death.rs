//! Jobs that die at random moments, in every way. The program counts its calls that returned; each of them is in the
//! trace that Finalize or `recover` makes, and the launcher's exit code is one that it also has without the tracer.
//!
//! Each fault is tried once, or `TESTS_SOAK` times: `tests/run.sh --soak deaths`, which writes the table of
//! docs/developers/measurements.md.

use crate::support::soak::{self, Soak, Table};
use crate::support::truth::{self, Compared, Truth};
use crate::support::{Case, Outcome, Test, litter, process};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    test("by_sigkill_of_a_rank", |case| tries(case, &FAULTS[0])),
    test("by_sigkill_of_all_ranks", |case| tries(case, &FAULTS[1])),
    test("by_sigkill_of_a_rank_in_finalize", |case| tries(case, &FAULTS[2])),
    test("by_a_wild_pointer", |case| tries(case, &FAULTS[3])),
    test("by_abort", |case| tries(case, &FAULTS[4])),
    test("by_exit_without_finalize", |case| tries(case, &FAULTS[5])),
    test("by_exit_while_others_are_in_finalize", |case| tries(case, &FAULTS[6])),
    test("by_mpi_abort", |case| tries(case, &FAULTS[7])),
    test("by_an_error_that_is_fatal", |case| tries(case, &FAULTS[8])),
    test("by_sigterm_of_the_launcher", |case| tries(case, &FAULTS[9])),
    test("by_sigint_of_the_launcher", |case| tries(case, &FAULTS[10])),
    test("by_sigkill_of_the_launcher", |case| tries(case, &FAULTS[11])),
];

const fn test(name: &'static str, run: fn(&Case)) -> Test {
    Test::new(name, run).second_tier()
}

/// The signal or call that ends the job.
struct Fault {
    /// Its name in the table.
    name: &'static str,
    by: By,
}

enum By {
    /// A rank itself, in this way of tests/programs/returned.c.
    Rank(&'static str),
    /// This signal, to all ranks.
    Ranks(i32),
    /// This signal, to the launcher.
    Launcher(i32),
}

const FAULTS: [Fault; 12] = [
    Fault { name: "SIGKILL of one rank", by: By::Rank("kill") },
    Fault { name: "SIGKILL of all ranks", by: By::Ranks(libc::SIGKILL) },
    Fault { name: "SIGKILL of one rank in MPI_Finalize", by: By::Rank("killed-in-finalize") },
    Fault { name: "SIGSEGV", by: By::Rank("segv") },
    Fault { name: "abort()", by: By::Rank("sigabrt") },
    Fault { name: "exit without MPI_Finalize", by: By::Rank("exit") },
    Fault { name: "exit of one rank, the other in MPI_Finalize", by: By::Rank("finalize") },
    Fault { name: "MPI_Abort", by: By::Rank("abort") },
    Fault { name: "an error under MPI_ERRORS_ARE_FATAL", by: By::Rank("error") },
    Fault { name: "SIGTERM to the launcher", by: By::Launcher(libc::SIGTERM) },
    Fault { name: "SIGINT to the launcher", by: By::Launcher(libc::SIGINT) },
    Fault { name: "SIGKILL of the launcher", by: By::Launcher(libc::SIGKILL) },
];

const RANKS: u32 = 2;
/// Records in memory of every second try: so few that chunks are packed and refilled again and again.
const FEW: u64 = 256;
/// Runs without the tracer before an exit code counts as the tracer's: a launcher can have several for one fault.
const PLAIN_RUNS: u32 = 40;
const LIMIT: Duration = Duration::from_secs(60);

/// One try: which rank dies, when, and whether the arrays are small.
#[derive(Clone, Copy, Debug)]
struct Moment {
    rank: u32,
    calls: u64,
    delay_us: u64,
    is_small: bool,
}

impl Moment {
    fn random(number: u32) -> Moment {
        // Keys differ from one state to the next; the high bits are as good as the low ones.
        let random = || RandomState::new().hash_one(number) >> 20;
        // As likely between 10 and 100 as between 1000 and 10 000.
        let spread = |decades: f64| 10_f64.powf((random() % 10_000) as f64 / 10_000.0 * decades) as u64;
        Moment {
            rank: (random() % u64::from(RANKS)) as u32,
            calls: spread(3.6),
            delay_us: 10 * spread(3.5),
            is_small: number % 2 == 1,
        }
    }
}

/// The sums of one fault.
#[derive(Clone, Copy, Default)]
struct Sums {
    tries: u64,
    compared: Compared,
    other_codes: u64,
    recovered: u64,
}

impl soak::Sums for Sums {
    fn add(&mut self, more: &Sums) {
        self.tries += more.tries;
        self.compared.returned += more.compared.returned;
        self.compared.lost += more.compared.lost;
        self.compared.invented += more.compared.invented;
        self.other_codes += more.other_codes;
        self.recovered += more.recovered;
    }

    fn cells(&self) -> Vec<String> {
        let Sums { tries, compared: Compared { returned, lost, .. }, other_codes, recovered } = self;
        [tries, returned, lost, other_codes, recovered].map(u64::to_string).into()
    }
}

static SOAK: Soak<Sums> = Soak::new();

fn tries(case: &Case, fault: &Fault) {
    let number = soak::tries().unwrap_or(1) as u32;
    let (mut sums, mut failures, mut codes) = (Sums::default(), Vec::new(), BTreeSet::new());
    for number in 0..number {
        let moment = Moment::random(number);
        let folder = case.folder.join(format!("try{number}"));
        let traced = die(case, fault, moment, &folder, true);
        let truths = Truth::once_after(&folder, RANKS, 0, Duration::from_millis(1)).expect("what each rank counted");
        let itself = traced.trace.path.exists();
        if !itself {
            remove_markers(case);
        }
        // Where the library ends the others well they have written files of their own.
        let own = (0..RANKS).map(|rank| traced.trace.path.with_extension(format!("rank{rank}.mpitrace")));
        let own: Vec<_> = own.filter(|path| path.exists()).collect();
        let beside: Vec<&str> = own.iter().filter_map(|path| path.to_str()).collect();
        let trace = if itself { traced.trace } else { case.recover_soon() };
        // Where a rank was killed when the trace was whole, the live records of others may be left beside it.
        case.segments.empty();
        let compared = truth::compare(&trace, &beside, &truths);
        let plain = |number: u32| {
            let folder = case.folder.join(format!("plain{number}"));
            let code = die(case, fault, Moment::random(number), &folder, false).code;
            let _ = fs::remove_dir_all(folder);
            code
        };
        let mut runs = 0;
        while !codes.contains(&traced.code) && runs < PLAIN_RUNS {
            codes.insert(plain(runs));
            runs += 1;
        }
        let same_code = codes.contains(&traced.code);
        sums.tries += 1;
        sums.compared.returned += compared.returned;
        sums.compared.lost += compared.lost;
        sums.compared.invented += compared.invented;
        sums.other_codes += u64::from(!same_code);
        sums.recovered += u64::from(!itself);
        if compared.lost > 0 || compared.invented > 0 || !same_code {
            let code = traced.code;
            failures.push(format!(
                "{moment:?}: {compared:?} of {truths:?}; exit code {code}, without the tracer {codes:?}\n{}",
                traced.stderr
            ));
            let _ = fs::rename(&trace.path, folder.join("trace.mpitrace"));
        } else {
            let _ = fs::remove_file(&trace.path);
            let _ = fs::remove_dir_all(folder);
        }
    }
    SOAK.add(case, fault.name, &sums);
    assert!(failures.is_empty(), "{} of {number} tries:\n{}", failures.len(), failures.join("\n"));
}

/// Runs the program until it is dead.
fn die(case: &Case, fault: &Fault, moment: Moment, folder: &Path, traced: bool) -> Outcome {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder).expect("a folder for what the ranks count");
    let how = if let By::Rank(how) = fault.by { how } else { "none" };
    let numbers = [u64::from(moment.rank), moment.calls, moment.delay_us];
    let mut launch = case.launch(RANKS, "returned.c").arg(folder).arg(how).within(LIMIT * 2);
    for number in numbers {
        launch = launch.arg(number.to_string());
    }
    if traced {
        launch = launch.trace();
        if moment.is_small {
            launch = launch.set("MPITRACE_CAPACITY", FEW.to_string());
        }
    }
    let launcher = folder.join("launcher");
    let before: [OsString; 4] = [
        "sh".into(),
        "-c".into(),
        "echo $$ >\"$0.new\" && mv \"$0.new\" \"$0\" && exec \"$@\"".into(),
        (&launcher).into(),
    ];
    let outcome = scope(|scope| {
        let actor = scope.spawn(|| act(fault, moment, folder, &launcher));
        let outcome = launch.run_under(&before);
        actor.join().expect("the signal was sent");
        outcome
    });
    end_ranks(folder);
    litter::sweep();
    outcome
}

/// Sends the signal, if it comes from outside.
fn act(fault: &Fault, moment: Moment, folder: &Path, launcher: &PathBuf) {
    if matches!(fault.by, By::Rank(_)) {
        return;
    }
    let Some(ranks) = Truth::once_after(folder, RANKS, 1, LIMIT) else { panic!("the ranks make no calls") };
    sleep(Duration::from_micros(10 * moment.delay_us));
    match fault.by {
        By::Rank(_) => {}
        By::Ranks(signal) => ranks.iter().for_each(|rank| process::signal(rank.process, signal)),
        By::Launcher(signal) => {
            let number = fs::read_to_string(launcher).expect("the launcher's number");
            process::signal(number.trim().parse().expect("a number"), signal);
        }
    }
}

/// Removes what a job leaves beside its records that is killed where ranks meet: `recover` does so an hour later.
fn remove_markers(case: &Case) {
    for name in case.segments.left().into_iter().filter(|name| !name.ends_with(".segment")) {
        let _ = fs::remove_file(case.segments.0.join(name));
    }
}

/// Waits until no rank is left: a launcher may end before they do, and one that is killed may leave them to themselves.
fn end_ranks(folder: &Path) {
    let started = Instant::now();
    for rank in 0..RANKS {
        let Some(truth) = Truth::of_rank(folder, rank) else { continue };
        while truth.is_alive() {
            if started.elapsed() > Duration::from_secs(20) {
                process::signal(truth.process, libc::SIGKILL);
            }
            sleep(Duration::from_millis(5));
        }
    }
}

/// In a soak, the table of docs/developers/measurements/deaths.txt, into target/tests/deaths.md.
pub fn write_table() {
    SOAK.write(&Table {
        file: "deaths.md",
        below: false,
        how: format!("{RANKS} ranks each"),
        columns: &["fault", "tries", "calls that had returned", "lost", "other exit codes", "recovered"],
        kinds: FAULTS.iter().map(|fault| fault.name).collect(),
        of_all: true,
    });
}
